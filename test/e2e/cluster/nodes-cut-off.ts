// A gateway loses the connection to the database and the other nodes, while clients and the agent still reach
// it. Other nodes take over the work, and late actions of the gateway change no outcome.

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
/** Answer time of the agent: long in some conversations, so that the interruption hits running turns. */
const answerMs = (conversation: string) => (conversation.endsWith('7') ? 500 : 10);

test('a node separated from database and peers loses its claims, and comes back as a new member', async () => {
  const ledger = await startLedger(answerMs);
  const server = await sharedPostgres();
  const url = await server.newDatabase();
  const host = newHost();
  // `back` leads to the database and the other nodes, `front` to clients and the agent. `ours` is the address
  // of the test, `theirs` of node three.
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
  // Reports two nodes that hold the same claim or lease.
  const holders = watchHolders(url);
  const sending = startLoad({ conversations: 30, perSecond: 80, urls: cluster.urls });
  const three = cluster.node('three');
  await eventually(() => expect(new Set(ledger.received.map(({ node }) => node))).toContain('three'));
  await sending.reaches(60);

  host.cut('back');
  const cutAtMs = performance.now();
  await elapse(3_000);
  // The membership has expired. From now on, the agent must receive nothing from node three.
  const seenBefore = ledger.received.length;
  const alone = await postOrder(three.url, 'cut-off', 1, { patienceMs: 12_000 });
  expect(['503', '202']).toContain(alone.status);
  await elapse(Math.max(0, CUT_MS - (performance.now() - cutAtMs)));
  const whileCut = ledger.received.slice(seenBefore);
  host.mend('back');
  // Node three is a member again, under a new epoch.
  await cluster.waitForMembers(['one', 'three', 'two']);
  await sending.reaches(sending.acknowledged.size + 40);

  expectNothingWrong(await cluster.account(sending));
  await holders.stop();
  expect(holders.faults).toEqual([]);
  expect(whileCut.filter(({ node }) => node === 'three')).toEqual([]);
  expect(whileCut.length).toBeGreaterThan(0);
});
