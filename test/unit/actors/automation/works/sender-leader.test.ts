import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { NodeCoordination } from '../../../../../actors/automation/node-coordination.ts';
import { SenderLeader } from '../../../../../actors/automation/works/sender-leader.ts';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { newEvent } from '../../../../fixtures/automation/inbox.ts';
import { FakeCluster } from '../../../../fixtures/cluster/fake-cluster.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

function bench(...uses: boolean[]) {
  const shared = new FakeCluster();
  const nodes = uses.map((isUsed) => ({ ...shared.join(), isUsed }));
  for (const { cluster, isUsed } of nodes) cluster.membership.publish('platforms', isUsed ? ['chat'] : []);
  const opened: number[] = [];
  const gates = nodes.map((node, at) => {
    const { cluster } = node;
    const onOpen = () => void opened.push(at);
    return new SenderLeader({ cluster, platform: 'chat', isUsed: () => node.isUsed, onOpen });
  });
  return {
    shared,
    nodes,
    gates,
    opened,
    open: () => gates.flatMap(({ isOpen }, at) => (isOpen ? [at] : [])),
  };
}

test('one node sends the messages of a platform, and another node takes over when the first is lost or stops', async () => {
  const { nodes, gates, opened, open } = bench(true, true, true);
  await pass(1_200);
  const [first = 0] = open();
  expect([open().length, opened]).toEqual([1, [first]]);
  // The node detects it by the local clock, before other nodes do.
  nodes[first]?.node.lose();
  expect(open()).toEqual([]);
  nodes[first]?.node.bury();
  await pass(1_200);
  const [second = 0] = open();
  expect([open().length, second === first]).toEqual([1, false]);
  gates[second]?.close();
  expect(open()).toEqual([]);
  await pass(1_200);
  expect(open()).toHaveLength(1);
  expect(open()).not.toContain(second);
});

test('a node without a trigger of a platform becomes its leader after a delay, and yields to a node with one', async () => {
  const { nodes, gates, open } = bench(false, false);
  await pass(5_000);
  expect(open()).toEqual([]);
  await pass(6_000);
  const [first = 0] = open();
  expect(open()).toHaveLength(1);
  const other = nodes[1 - first];
  if (other === undefined) throw new Error('expected a second node');
  other.isUsed = true;
  other.cluster.membership.publish('platforms', ['chat']);
  other.node.updateAll();
  gates[1 - first]?.onTriggersChanged();
  await pass(1_500);
  expect(open()).toEqual([1 - first]);
});

test('events queued for a slot of a lost node are released; events held by a paused trigger are not', async () => {
  const shared = new FakeCluster();
  const [here, there] = [shared.join('here'), shared.join('there')];
  const store = new MemoryStore();
  for (const id of ['a', 'b']) await store.append([newEvent(`k/${id}`, id)]);
  const claims = await store.claim(2, 60_000);
  const names = ['place: t at agent', 'paused'];
  await store.commit(
    claims.map(({ key, fence, event }, at) => ({
      key,
      fence,
      seq: event.seq,
      outcome: 'queued' as const,
      heldBy: names[at],
    })),
  );
  const nodes = new NodeCoordination({
    cluster: here.cluster,
    store,
    log: silentLog,
    cancel: () => false,
    platforms: () => new Set<string>(),
  });
  expect(await store.claim(2, 60_000)).toEqual([]);
  there.node.bury();
  await pass(0);
  expect((await store.claim(2, 60_000)).map(({ event }) => event.id)).toEqual(['a']);
  nodes.close();
});
