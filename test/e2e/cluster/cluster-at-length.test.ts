// What the tests of every run do for seconds, for as long as it may last: a node that stands still for a minute, and one after the other
// killed again and again.

import { setTimeout as elapse } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { lastSeenAfter, startCluster, threeNodes } from '../../fixtures/cluster/cluster.ts';
import { watchHolders } from '../../fixtures/cluster/holders.ts';
import { expectNothingWrong, startLedger } from '../../fixtures/cluster/ledger.ts';
import { startLoad } from '../../fixtures/cluster/senders.ts';
import { newDatabase } from '../../fixtures/store/shared-postgres.ts';
import './nodes-stopped.ts';

const LEASE_MS = 2_000;
/** From the end of the lease of the one that was killed. */
const GOES_ON_WITHIN_MS = 5_000;
const BETWEEN_KILLS_MS = 7_000;
const STOPPED_MS = 60_000;
const KILLS = 6;
/** Longer than the lease, so that others have the work by then; and so often that each part of what a node does is met. */
const HALTED_MS = 2_800;
const BETWEEN_HALTS_MS = 700;
const HALTS = 40;
const load = { conversations: 40, perSecond: 120 };

async function underLoad() {
  const ledger = await startLedger((conversation) => (conversation.endsWith('7') ? 200 : 10));
  const url = await newDatabase();
  const cluster = await startCluster({ databaseUrl: url, ledger, nodes: threeNodes, hasSchedule: true });
  const holders = watchHolders(url);
  const sending = startLoad({ ...load, urls: cluster.urls });
  await sending.reaches(100);
  return { ledger, cluster, holders, sending };
}

test('a node that stood still for a minute comes back, and nobody notices', async () => {
  const { cluster, holders, sending } = await underLoad();
  cluster.node('two').halt();
  await elapse(STOPPED_MS);
  const before = sending.acknowledged.size;
  cluster.node('two').resume();
  await cluster.areMembers(['one', 'three', 'two']);
  await sending.reaches(before + 200);

  expectNothingWrong(await cluster.account(sending));
  await holders.stop();
  expect(holders.faults).toEqual([]);
}, 240_000);

test('nodes that stand still again and again, each time beyond their lease, change no outcome and no order', async () => {
  const { cluster, holders, sending } = await underLoad();
  for (let halt = 0; halt < HALTS; halt += 1) {
    const node = cluster.node(halt % 2 === 0 ? 'one' : 'two');
    node.halt();
    await elapse(HALTED_MS);
    node.resume();
    await elapse(BETWEEN_HALTS_MS);
  }

  expectNothingWrong(await cluster.account(sending));
  await holders.stop();
  expect(holders.faults).toEqual([]);
  await cluster.areMembers(['one', 'three', 'two']);
}, 300_000);

test('nodes that are killed one after the other lose nothing, and the others go on with their work in time', async () => {
  const { ledger, cluster, holders, sending } = await underLoad();
  const killedAtMs: number[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    const node = cluster.nodes[kill % cluster.nodes.length];
    killedAtMs.push(performance.now());
    await node?.kill();
    await elapse(BETWEEN_KILLS_MS);
    await node?.start();
    await sending.reaches(sending.acknowledged.size + 100);
  }

  expectNothingWrong(await cluster.account(sending));
  await holders.stop();
  expect(holders.faults).toEqual([]);
  for (const atMs of killedAtMs)
    expect(lastSeenAfter(ledger, sending, atMs, atMs) - LEASE_MS).toBeLessThan(GOES_ON_WITHIN_MS);
}, 300_000);
