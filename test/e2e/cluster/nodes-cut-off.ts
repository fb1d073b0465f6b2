// A gateway on a host of its own, which is cut off from the database and from the other nodes without a word while clients and the agent
// reach it as before: what it had is done by the others, and nothing that it does then changes an outcome.

import { setTimeout as elapse } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { eventually } from '../../fixtures/automation/automation.ts';
import { startCluster } from '../../fixtures/cluster/cluster.ts';
import { watchHolders } from '../../fixtures/cluster/holders.ts';
import { expectNothingWrong, startLedger } from '../../fixtures/cluster/ledger.ts';
import { newHost } from '../../fixtures/cluster/network.ts';
import { startRelay } from '../../fixtures/cluster/relay.ts';
import { postOrder, startLoad } from '../../fixtures/cluster/senders.ts';
import { sharedPostgres } from '../../fixtures/store/shared-postgres.ts';

const CUT_MS = 6_000;

test('a node that is cut off from the database and its peers loses what it had, and comes back as a new member', async () => {
  const ledger = await startLedger((conversation) => (conversation.endsWith('7') ? 500 : 10));
  const server = await sharedPostgres();
  const url = await server.newDatabase();
  const host = newHost();
  const { back, front } = host.lines;
  const toDatabase = await startRelay({ port: server.port }, back.ours);
  const toAgent = await startRelay({ port: Number(new URL(ledger.url).port) }, front.ours);
  const cluster = await startCluster({
    databaseUrl: url,
    ledger,
    hasSchedule: true,
    nodes: [
      { name: 'one' },
      { name: 'two' },
      {
        name: 'three',
        launcher: host.launcher,
        databaseUrl: url.replace(/@[\d.]+:\d+\//, `@${back.ours}:${toDatabase.port}/`),
        agentUrl: `http://${front.ours}:${toAgent.port}/`,
        settings: { listen_addr: `${front.theirs}:0` },
      },
    ],
  });
  const holders = watchHolders(url);
  const sending = startLoad({ conversations: 30, perSecond: 80, urls: cluster.urls });
  const three = cluster.node('three');
  await eventually(() => expect(new Set(ledger.seen.map(({ node }) => node))).toContain('three'));
  await sending.reaches(60);

  host.cut('back');
  const cutAtMs = performance.now();
  await elapse(3_000);
  // Whatever it could have gone on with, its membership is over.
  const seenBefore = ledger.seen.length;
  const alone = await postOrder(three.url, 'cut-off', 1, { patienceMs: 12_000 });
  expect(['503', '202']).toContain(alone.status);
  await elapse(Math.max(0, CUT_MS - (performance.now() - cutAtMs)));
  const whileCut = ledger.seen.slice(seenBefore);
  host.mend('back');
  // It is a member again, under another epoch.
  await cluster.areMembers(['one', 'three', 'two']);
  await sending.reaches(sending.acknowledged.size + 40);

  expectNothingWrong(await cluster.account(sending));
  await holders.stop();
  expect(holders.faults).toEqual([]);
  expect(whileCut.filter(({ node }) => node === 'three')).toEqual([]);
  expect(whileCut.length).toBeGreaterThan(0);
});
