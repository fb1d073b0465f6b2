// A node stands still for longer than its membership, in the middle of what it does, and then goes on as if nothing had been: its work has
// been done by the others, and nothing that it does changes an outcome or is seen after what came later.

import { setTimeout as elapse } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startCluster, threeNodes } from '../../fixtures/cluster/cluster.ts';
import { watchHolders } from '../../fixtures/cluster/holders.ts';
import { expectNothingWrong, startLedger } from '../../fixtures/cluster/ledger.ts';
import { startRelay } from '../../fixtures/cluster/relay.ts';
import { startLoad } from '../../fixtures/cluster/senders.ts';
import { sharedPostgres } from '../../fixtures/store/shared-postgres.ts';

/** Of a line to the database: so claims are on their way to a node at the moment at which it is stopped. */
const LINE_MS = 3;
const STOPPED_MS = 4_000;

test('a node that was stopped for longer than its lease and goes on changes no outcome and no order', async () => {
  const ledger = await startLedger((conversation) => (conversation.endsWith('7') ? 500 : 10));
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
  relay.delay(LINE_MS);
  const holders = watchHolders(url);
  const sending = startLoad({ conversations: 60, perSecond: 150, urls: cluster.urls });
  await sending.reaches(60);
  for (const name of ['one', 'two']) {
    const node = cluster.node(name);
    const before = sending.acknowledged.size;
    node.halt();
    await elapse(STOPPED_MS);
    // The others have gone on meanwhile.
    await sending.reaches(before + 20);
    node.resume();
    await elapse(1_500);
  }

  expectNothingWrong(await cluster.account(sending));
  await holders.stop();
  expect(holders.faults).toEqual([]);
  await cluster.areMembers(['one', 'three', 'two']);
});
