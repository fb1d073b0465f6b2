// Three gateways with a database that is killed. Either it comes back, or the synchronous standby is
// promoted. No acknowledged webhook is lost. Meanwhile webhooks get 503.

import { setTimeout as elapse } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { startCluster, threeNodes } from '../../fixtures/cluster/cluster.ts';
import { expectNothingWrong, startLedger } from '../../fixtures/cluster/ledger.ts';
import { startRelay } from '../../fixtures/cluster/relay.ts';
import { type Load, postOrder, startLoad } from '../../fixtures/cluster/senders.ts';
import { startPostgres } from '../../fixtures/store/postgres-server.ts';
import { sharedPostgres } from '../../fixtures/store/shared-postgres.ts';

/** Maximum webhook response time during a database outage. */
const ANSWER_WITHIN_MS = 12_000;
const load = { conversations: 30, perSecond: 80 };

const servers: { stop(): Promise<void> }[] = [];
afterAll(async () => {
  for (const server of servers) await server.stop();
});

/** Expects that all responses were an acknowledgement, or a 503 with a retry time. */
function expectOnlyRetryableRefusals(sending: Load): void {
  const { 503: putOff = 0, ...others } = Object.fromEntries(sending.refusals);
  expect(others).toEqual({});
  expect(putOff).toBeGreaterThan(0);
  expect(sending.withoutRetryAfter).toBe(0);
}

test('a killed database that comes back loses nothing, and webhooks get 503 with a retry time during the outage', async () => {
  const ledger = await startLedger();
  const server = await sharedPostgres();
  const databaseUrl = await server.newDatabase();
  const cluster = await startCluster({ databaseUrl, ledger, nodes: threeNodes, hasSchedule: true });
  const sending = startLoad({ ...load, urls: cluster.urls, patienceMs: ANSWER_WITHIN_MS });
  await sending.reaches(60);
  await server.kill();
  const before = sending.acknowledged.size;
  await elapse(2_000);
  // The response to a committed webhook may be lost.
  expect(sending.acknowledged.size).toBeLessThan(before + load.conversations);
  await server.start();
  await sending.reaches(sending.acknowledged.size + 60);

  expectNothingWrong(await cluster.account(sending));
  expectOnlyRetryableRefusals(sending);
  for (const node of cluster.nodes) expect(node.gateway.text()).not.toContain(databaseUrl);
});

test('a synchronous standby promoted after a kill of the primary has all acknowledged webhooks', async () => {
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
  const startedAt = performance.now();
  const alone = await postOrder(cluster.node('one').url, 'lonely', 1, { patienceMs: ANSWER_WITHIN_MS });
  expect(alone).toMatchObject({ status: '503', retryAfter: expect.stringMatching(/^\d+$/) });
  expect(performance.now() - startedAt).toBeLessThan(ANSWER_WITHIN_MS);
  await standby.promote();
  relay.routeTo({ port: standby.port });
  await sending.reaches(sending.acknowledged.size + 60);

  expectNothingWrong(await cluster.account(sending));
  expectOnlyRetryableRefusals(sending);
});
