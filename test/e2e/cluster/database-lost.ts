// Three gateways whose database ends without a word: it comes back, or its synchronous standby takes its place. Nothing that was
// acknowledged is lost by that, and meanwhile webhooks are told to come again.

import { setTimeout as elapse } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { startCluster, threeNodes } from '../../fixtures/cluster/cluster.ts';
import { expectNothingWrong, startLedger } from '../../fixtures/cluster/ledger.ts';
import { startRelay } from '../../fixtures/cluster/relay.ts';
import { type Load, postOrder, startLoad } from '../../fixtures/cluster/senders.ts';
import { startPostgres } from '../../fixtures/store/postgres-server.ts';
import { sharedPostgres } from '../../fixtures/store/shared-postgres.ts';

/** How long a webhook may wait for its answer while the database is away. */
const ANSWER_WITHIN_MS = 12_000;
const load = { conversations: 30, perSecond: 80 };

const servers: { stop(): Promise<void> }[] = [];
afterAll(async () => {
  for (const server of servers) await server.stop();
});

/** Every answer was an acknowledgement or a 503 with the time to come again. */
function expectToldToComeAgain(sending: Load): void {
  const { 503: putOff = 0, ...others } = Object.fromEntries(sending.refusals);
  expect(others).toEqual({});
  expect(putOff).toBeGreaterThan(0);
  expect(sending.withoutRetryAfter).toBe(0);
}

test('a database that is killed and comes back loses nothing, and webhooks are told to come again meanwhile', async () => {
  const ledger = await startLedger();
  const server = await sharedPostgres();
  const databaseUrl = await server.newDatabase();
  const cluster = await startCluster({ databaseUrl, ledger, nodes: threeNodes, hasSchedule: true });
  const sending = startLoad({ ...load, urls: cluster.urls, patienceMs: ANSWER_WITHIN_MS });
  await sending.reaches(60);
  await server.kill();
  const before = sending.acknowledged.size;
  await elapse(2_000);
  // What had been committed may have been on its way.
  expect(sending.acknowledged.size).toBeLessThan(before + load.conversations);
  await server.start();
  await sending.reaches(sending.acknowledged.size + 60);

  expectNothingWrong(await cluster.account(sending));
  expectToldToComeAgain(sending);
  for (const node of cluster.nodes) expect(node.gateway.text()).not.toContain(databaseUrl);
});

test('a synchronous standby that is promoted in place of a killed primary has all that was acknowledged', async () => {
  const ledger = await startLedger();
  const server = await startPostgres();
  servers.push(server);
  const relay = await startRelay({ port: server.port });
  const ownUrl = (await server.newDatabase()).replace(/:\d+\//, `:${relay.port}/`);
  const standby = await server.newStandby();
  servers.push(standby);
  const cluster = await startCluster({ databaseUrl: ownUrl, ledger, nodes: threeNodes, hasSchedule: true });
  const sending = startLoad({ ...load, urls: cluster.urls, patienceMs: ANSWER_WITHIN_MS });
  await sending.reaches(60);
  await server.kill();
  const asked = performance.now();
  const alone = await postOrder(cluster.node('one').url, 'lonely', 1, { patienceMs: ANSWER_WITHIN_MS });
  expect(alone).toMatchObject({ status: '503', retryAfter: expect.stringMatching(/^\d+$/) });
  expect(performance.now() - asked).toBeLessThan(ANSWER_WITHIN_MS);
  await standby.promote();
  relay.lead({ port: standby.port });
  await sending.reaches(sending.acknowledged.size + 60);

  expectNothingWrong(await cluster.account(sending));
  expectToldToComeAgain(sending);
});
