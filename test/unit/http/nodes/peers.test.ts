// Who is known of the other nodes, and when: nodes come while their members are being read, several at once.

import { setTimeout as elapse } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { silentLog } from '../../../../actors/base/errors/log.ts';
import type { NodeWays } from '../../../../actors/cluster/node-ways.ts';
import { Peers } from '../../../../src/http/nodes/peers.ts';
import { FakeCluster, type FakeMembership } from '../../../fixtures/cluster/fake-cluster.ts';

/** Nobody listens there. */
const ways: NodeWays = { to: () => ({ url: new URL('https://127.0.0.1:1'), tls: {}, headers: {} }) };
/** The time between two looks at the members. */
const REFRESH_MS = 250;

const begun: Peers[] = [];
afterEach(() => {
  for (const peers of begun.splice(0)) peers.close();
});

/** One that has begun, and looks at no members for a while. */
async function first(lookMs: number) {
  const nodes = new FakeCluster();
  const { cluster, node } = nodes.join('first');
  node.lookMs = lookMs;
  node.tell('instance', 'first');
  const peers = new Peers({ cluster, ways, log: silentLog });
  begun.push(peers);
  await peers.begin();
  await elapse(REFRESH_MS);
  node.looks = 0;
  /** A node that has just become a member, of which nobody has read. */
  const comes = (name: string): FakeMembership => {
    const other = nodes.joinUnseen(name);
    other.tell('instance', name);
    return other;
  };
  return { peers, node, comes };
}

test('a node that begins knows those that could not greet it before (PRS3)', async () => {
  const nodes = new FakeCluster();
  const { cluster, node } = nodes.join('first');
  node.tell('instance', 'first');
  node.lookMs = 20;
  nodes.joinUnseen('second').tell('instance', 'second');
  const peers = new Peers({ cluster, ways, log: silentLog });
  begun.push(peers);
  await peers.begin();
  expect(peers.at('second')).toBeDefined();
});

test('a node that greets is known before it is answered, whenever the members were read last (PRS3)', async () => {
  const { peers, node, comes } = await first(40);
  comes('second');
  await peers.meet('second');
  expect(peers.at('second')).toBeDefined();
  // Within the time of no further look.
  comes('third');
  await peers.meet('third');
  expect(peers.at('third')).toBeDefined();
  expect(node.looks).toBe(2);
});

test('a node that greets while the members are being read, and was none of them before, waits for the next look', async () => {
  const { peers, node, comes } = await first(60);
  comes('second');
  const second = peers.meet('second');
  await elapse(20);
  expect(node.looks).toBe(1);
  comes('third');
  await Promise.all([second, peers.meet('third')]);
  expect([peers.at('second'), peers.at('third')]).not.toContain(undefined);
  expect(node.looks).toBe(2);
});

test('many that greet at once share looks, and what is no member is answered after two of them', async () => {
  const { peers, node, comes } = await first(10);
  const names = Array.from({ length: 50 }, (_, n) => `node-${n}`);
  for (const name of names) comes(name);
  const from = performance.now();
  await Promise.all([...names, ...names, 'nobody', undefined].map((name) => peers.meet(name)));
  for (const name of names) expect(peers.at(name)).toBeDefined();
  expect(peers.at('nobody')).toBeUndefined();
  expect(node.looks).toBe(2);
  expect(performance.now() - from).toBeGreaterThan(REFRESH_MS - 10);
  await peers.meet('node-7');
  expect(node.looks).toBe(2);
});
