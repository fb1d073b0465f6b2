// Rolling restart of three gateways behind nginx with the documented configuration, under a load of webhooks:
// no webhook is refused or lost, and all gateways exit with 0.

import { expect, test } from 'vitest';
import { startCluster } from '../../fixtures/cluster/cluster.ts';
import { expectNothingWrong, startLedger } from '../../fixtures/cluster/ledger.ts';
import { startNginx } from '../../fixtures/cluster/nginx.ts';
import { startLoad } from '../../fixtures/cluster/senders.ts';
import { freePort } from '../../fixtures/free-port.ts';
import { newDatabase } from '../../fixtures/store/shared-postgres.ts';

const SHUTDOWN_SECONDS = 10;

test('a rolling restart of nodes behind a load balancer loses no event and refuses no webhook', async () => {
  // Some turns run when the node is stopped.
  const ledger = await startLedger((conversation) => (conversation.endsWith('7') ? 300 : 10));
  const ports = [await freePort(), await freePort(), await freePort()];
  const nodes = ['one', 'two', 'three'].map((name, at) => ({
    name,
    settings: { listen_addr: `127.0.0.1:${ports[at]}`, shutdown_seconds: SHUTDOWN_SECONDS },
  }));
  const databaseUrl = await newDatabase();
  const cluster = await startCluster({ databaseUrl, ledger, nodes, hasSchedule: true });
  const balancer = await startNginx(await freePort(), ports);
  const sending = startLoad({
    conversations: 30,
    perSecond: 80,
    urls: () => [balancer.url],
    patienceMs: 10_000,
  });
  await sending.reaches(60);
  for (const node of cluster.nodes) {
    const askedAtMs = performance.now();
    expect(await node.gateway.stop('SIGTERM')).toBe(0);
    expect(performance.now() - askedAtMs).toBeLessThan((SHUTDOWN_SECONDS + 2) * 1_000);
    // The name is free immediately.
    await node.start();
    await sending.reaches(sending.acknowledged.size + 30);
  }

  expectNothingWrong(await cluster.account(sending), balancer.errors());
  expect(Object.fromEntries(sending.refusals), balancer.errors()).toEqual({});
  expect((await fetch(`${balancer.url}/servers`)).status).toBe(200);
});
