// Discovery of other nodes, also if several nodes join during a read of the members.

import { setTimeout as elapse } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { silentLog } from '../../../../actors/base/errors/log.ts';
import type { NodeConnections } from '../../../../actors/cluster/node-connection.ts';
import { Peers } from '../../../../src/http/nodes/peers.ts';
import { FakeCluster, type FakeMembership } from '../../../fixtures/cluster/fake-cluster.ts';

/** No process listens there. */
const connections: NodeConnections = {
  connectionTo: () => ({ url: new URL('https://127.0.0.1:1'), tls: {}, headers: {} }),
};
/** Interval at which nodes read the members. */
const REFRESH_MS = 250;

const openPeers: Peers[] = [];
afterEach(() => {
  for (const peers of openPeers.splice(0)) peers.close();
});

/** Starts a node that does not read the members for a while. */
async function startFirstNode(lookMs: number) {
  const nodes = new FakeCluster();
  const { cluster, node } = nodes.join('first');
  node.readDelayMs = lookMs;
  node.publish('instance', 'first');
  const peers = new Peers({ cluster, connections, log: silentLog });
  openPeers.push(peers);
  await peers.start();
  await elapse(REFRESH_MS);
  node.reads = 0;
  /** Adds a node that no other node knows yet. */
  const addNode = (name: string): FakeMembership => {
    const other = nodes.joinUnread(name);
    other.publish('instance', name);
    return other;
  };
  return { peers, node, comes: addNode };
}

test('a starting node knows the existing cluster members, also those that could not greet it', async () => {
  const nodes = new FakeCluster();
  const { cluster, node } = nodes.join('first');
  node.publish('instance', 'first');
  node.readDelayMs = 20;
  nodes.joinUnread('second').publish('instance', 'second');
  const peers = new Peers({ cluster, connections, log: silentLog });
  openPeers.push(peers);
  await peers.start();
  expect(peers.at('second')).toBeDefined();
});

test('a node that greets another node is known there before it gets a response, whenever the members were last read', async () => {
  const { peers, node, comes: addNode } = await startFirstNode(40);
  addNode('second');
  await peers.awaitMember('second');
  expect(peers.at('second')).toBeDefined();
  // Before the next scheduled read.
  addNode('third');
  await peers.awaitMember('third');
  expect(peers.at('third')).toBeDefined();
  expect(node.reads).toBe(2);
});

test('a node that greets during a read of the member list waits for the next read if the list lacks it', async () => {
  const { peers, node, comes: addNode } = await startFirstNode(60);
  addNode('second');
  const second = peers.awaitMember('second');
  await elapse(20);
  expect(node.reads).toBe(1);
  addNode('third');
  await Promise.all([second, peers.awaitMember('third')]);
  expect([peers.at('second'), peers.at('third')]).not.toContain(undefined);
  expect(node.reads).toBe(2);
});

test('concurrent greetings of nodes share reads of the member list; an unknown node is answered after two reads', async () => {
  const { peers, node, comes: addNode } = await startFirstNode(10);
  const names = Array.from({ length: 50 }, (_, n) => `node-${n}`);
  for (const name of names) addNode(name);
  const from = performance.now();
  await Promise.all([...names, ...names, 'nobody', undefined].map((name) => peers.awaitMember(name)));
  for (const name of names) expect(peers.at(name)).toBeDefined();
  expect(peers.at('nobody')).toBeUndefined();
  expect(node.reads).toBe(2);
  expect(performance.now() - from).toBeGreaterThan(REFRESH_MS - 10);
  await peers.awaitMember('node-7');
  expect(node.reads).toBe(2);
});
