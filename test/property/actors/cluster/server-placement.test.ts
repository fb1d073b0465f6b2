// Placement of a tool server that runs once in the cluster. Random steps let nodes (gateways) open and close
// links to the server (connections for its messages), lose their memberships of the cluster and rejoin. At
// most one node runs the server, and each link ends once (invariant L1 in actors/mcp/links/link.ts).

import { setTimeout as elapse } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type GatewayError,
  StoppedError,
  UpstreamProtocolError,
} from '../../../../actors/base/errors/errors.ts';
import { MISDIRECTED, PlacedLink } from '../../../../actors/cluster/placed-link.ts';
import { ServerPlacement } from '../../../../actors/cluster/server-placement.ts';
import type { Link, LinkEvents } from '../../../../actors/mcp/links/link.ts';
import { isExternal } from '../../../../machines/external-failure.ts';
import { FakeCluster } from '../../../fixtures/cluster/fake-cluster.ts';

const SERVER = 'x';
const LEASE = `server/${SERVER}`;
const nodeNames = ['a', 'b', 'c'] as const;

/** Local process or remote connection: runs until closed, gracefully with a short delay, or killed. */
class InnerLink implements Link {
  readonly pid = undefined;
  readonly stderrTail = [];
  readonly queuedBytes = 0;
  isOver = false;
  readonly events: LinkEvents;
  readonly #whenOver: () => void;

  constructor(events: LinkEvents, whenOver: () => void) {
    this.events = events;
    this.#whenOver = whenOver;
  }

  async open(): Promise<void> {}
  send(): void {}
  forget(): void {}
  ready(): void {}

  async close(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.kill();
  }

  kill(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#whenOver();
    this.events.onEnd(new StoppedError('ended'));
  }
}

interface OpenedLink {
  readonly link: PlacedLink;
  /** Last local or remote link that the placed link opened. */
  inner: InnerLink | undefined;
  readonly ends: GatewayError[];
}

class Nodes {
  readonly shared = new FakeCluster();
  readonly nodes = nodeNames.map((name) => {
    const { node, cluster } = this.shared.join(name);
    return { node, placement: new ServerPlacement(cluster, 1), opened: [] as OpenedLink[] };
  });
  /** Names of the nodes that run a process of the server. A node occurs once per process. */
  readonly running: string[] = [];

  at(index: number) {
    const node = this.nodes[index % nodeNames.length];
    if (node === undefined) throw new Error('unknown node');
    return node;
  }

  open(index: number): OpenedLink {
    const { node, placement, opened } = this.at(index);
    const openedLink: OpenedLink = {
      link: new PlacedLink({
        server: SERVER,
        patienceMs: 60_000,
        placement,
        events: {
          onMessage: () => {},
          onOversized: () => {},
          onUndelivered: () => {},
          onEnd: (error) => openedLink.ends.push(error),
        },
        makeLocal: (events) => {
          this.running.push(node.name);
          // At most one node runs the server.
          expect(new Set(this.running).size).toBe(1);
          openedLink.inner = new InnerLink(events, () =>
            this.running.splice(this.running.indexOf(node.name), 1),
          );
          return openedLink.inner;
        },
        makeRemote: (events, { member, epoch }) => {
          expect(member.name).not.toBe(node.name);
          // A request names the epoch (number of the membership) of its receiver. The receiver holds the
          // lease of that epoch.
          const holder = this.nodes.find((each) => each.node.name === member.name);
          if (this.shared.holderOf(LEASE)?.epoch === epoch)
            expect(holder?.placement.holds(SERVER, epoch) ?? false).toBe(holder?.node.isMember);
          openedLink.inner = new InnerLink(events, () => {});
          return openedLink.inner;
        },
      }),
      inner: undefined,
      ends: [],
    };
    opened.push(openedLink);
    void openedLink.link.open().catch(() => undefined);
    return openedLink;
  }

  async closeAll(): Promise<void> {
    for (const { node } of this.nodes) if (!node.isInTables) node.enter();
    for (const { opened } of this.nodes) for (const { link } of opened) await link.close();
    await elapse(10);
  }
}

/** `which` is a link index among the node's opened links. `misdirect`: the remote node rejects a request. */
const anyStep = fc.record({
  command: fc.constantFrom('open', 'open', 'close', 'kill', 'lose', 'join', 'wait', 'misdirect'),
  nodeIndex: fc.nat(2),
  which: fc.nat(5),
});

test('a server never runs on two nodes, stops when its lease is lost, and leaves no lease behind', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 40 }), async (steps) => {
      const nodes = new Nodes();
      for (const { command, nodeIndex, which } of steps) {
        const { node, opened } = nodes.at(nodeIndex);
        const openedLink = opened[which % Math.max(1, opened.length)];
        if (command === 'open') nodes.open(nodeIndex);
        else if (command === 'close') void openedLink?.link.close();
        else if (command === 'kill') openedLink?.link.kill();
        else if (command === 'lose') node.bury();
        else if (command === 'join' && !node.isInTables) node.enter();
        else if (command === 'misdirect')
          openedLink?.inner?.events.onUndelivered(
            1,
            new UpstreamProtocolError('x', { status: MISDIRECTED }),
            true,
          );
        else for (let round = 0; round < 4; round += 1) await new Promise((resolve) => setImmediate(resolve));
        expect(new Set(nodes.running).size).toBeLessThanOrEqual(1);
        if (!node.isMember) expect(nodes.running).not.toContain(node.name);
      }
      await nodes.closeAll();
      expect(nodes.running).toEqual([]);
      expect(nodes.shared.holderOf(LEASE)).toBeUndefined();
      // L1: every link ends once. A link that the test did not close ends because of a node, never because of
      // the server.
      for (const { opened } of nodes.nodes)
        for (const { ends } of opened) {
          expect(ends).toHaveLength(1);
          expect(ends[0] instanceof StoppedError || isExternal(ends[0]), ends[0]?.message).toBe(true);
        }
    }),
    { numRuns: 100 },
  );
});
