// Long versions of the cluster tests: a node suspended for a minute, and nodes killed repeatedly.

import { setTimeout as elapse } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { lastSeenAfter, startCluster, threeNodes } from '../../fixtures/cluster/cluster.ts';
import { watchHolders } from '../../fixtures/cluster/holders.ts';
import { expectNothingWrong, startLedger } from '../../fixtures/cluster/ledger.ts';
import { startLoad } from '../../fixtures/cluster/senders.ts';
import { newDatabase } from '../../fixtures/store/shared-postgres.ts';
// Runs its test in this file as well.
import './nodes-stopped.ts';

const LEASE_MS = 2_000;
/** Counted from the expiry of the lease of the killed node. */
const TAKEOVER_WITHIN_MS = 5_000;
const BETWEEN_KILLS_MS = 7_000;
const LONG_SUSPENSION_MS = 60_000;
const KILLS = 6;
/** Exceeds the lease, so that other nodes take over. Repeated often enough to hit all parts of the work. */
const SHORT_SUSPENSION_MS = 2_800;
const BETWEEN_SUSPENSIONS_MS = 700;
const SUSPENSIONS = 40;
const load = { conversations: 40, perSecond: 120 };

async function underLoad() {
  // Events of every tenth conversation take 200 ms, all others 10 ms.
  const ledger = await startLedger((conversation) => (conversation.endsWith('7') ? 200 : 10));
  const url = await newDatabase();
  const cluster = await startCluster({ databaseUrl: url, ledger, nodes: threeNodes, hasSchedule: true });
  const holders = watchHolders(url);
  const sending = startLoad({ ...load, urls: cluster.urls });
  await sending.reaches(100);
  return { ledger, cluster, holders, sending };
}

test('a node suspended for a minute comes back without a visible effect', async () => {
  const { cluster, holders, sending } = await underLoad();
  cluster.node('two').halt();
  await elapse(LONG_SUSPENSION_MS);
  const before = sending.acknowledged.size;
  cluster.node('two').resume();
  await cluster.waitForMembers(['one', 'three', 'two']);
  await sending.reaches(before + 200);

  expectNothingWrong(await cluster.account(sending));
  await holders.stop();
  expect(holders.faults).toEqual([]);
}, 240_000);

test('repeated suspensions beyond the lease change no outcome and no order', async () => {
  const { cluster, holders, sending } = await underLoad();
  for (let count = 0; count < SUSPENSIONS; count += 1) {
    const node = cluster.node(count % 2 === 0 ? 'one' : 'two');
    node.halt();
    await elapse(SHORT_SUSPENSION_MS);
    node.resume();
    await elapse(BETWEEN_SUSPENSIONS_MS);
  }

  expectNothingWrong(await cluster.account(sending));
  await holders.stop();
  expect(holders.faults).toEqual([]);
  await cluster.waitForMembers(['one', 'three', 'two']);
}, 300_000);

test('nodes killed one after another lose no event, and the other nodes take over in time', async () => {
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
  for (const atMs of killedAtMs) {
    // Time after the kill until all events acknowledged before it have been handled.
    const handledAfterMs = lastSeenAfter(ledger, sending, atMs);
    expect(handledAfterMs - LEASE_MS).toBeLessThan(TAKEOVER_WITHIN_MS);
  }
}, 300_000);
