// A node is suspended beyond its membership lease, and then continues: other nodes have done the work. Late
// actions of the node change no outcome, and are never visible after newer actions.

import { setTimeout as elapse } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startCluster, threeNodes } from '../../fixtures/cluster/cluster.ts';
import { watchHolders } from '../../fixtures/cluster/holders.ts';
import { expectNothingWrong, startLedger } from '../../fixtures/cluster/ledger.ts';
import { startRelay } from '../../fixtures/cluster/relay.ts';
import { startLoad } from '../../fixtures/cluster/senders.ts';
import { sharedPostgres } from '../../fixtures/store/shared-postgres.ts';

/** Latency of the database connection, so that some claims are being sent when the node is suspended. */
const LATENCY_MS = 3;
const STOPPED_MS = 4_000;
/** Answer time of the agent: long in some conversations, so that the interruption hits running turns. */
const answerMs = (conversation: string) => (conversation.endsWith('7') ? 500 : 10);

test('a node suspended for longer than the lease changes no outcome and no order when it continues', async () => {
  const ledger = await startLedger(answerMs);
  const server = await sharedPostgres();
  const url = await server.newDatabase();
  const relay = await startRelay({ port: server.port });
  const databaseUrl = url.replace(/:\d+\//, `:${relay.port}/`);
  const cluster = await startCluster({
    databaseUrl,
    ownUrl: url,
    ledger,
    nodes: threeNodes,
    hasSchedule: true,
  });
  relay.delay(LATENCY_MS);
  // Reports two nodes that hold the same claim or lease.
  const holders = watchHolders(url);
  const sending = startLoad({ conversations: 60, perSecond: 150, urls: cluster.urls });
  await sending.reaches(60);
  for (const name of ['one', 'two']) {
    const node = cluster.node(name);
    const before = sending.acknowledged.size;
    node.halt();
    await elapse(STOPPED_MS);
    // Meanwhile other nodes have continued.
    await sending.reaches(before + 20);
    node.resume();
    await elapse(1_500);
  }

  expectNothingWrong(await cluster.account(sending));
  await holders.stop();
  expect(holders.faults).toEqual([]);
  await cluster.waitForMembers(['one', 'three', 'two']);
});
