// A gateway is killed with a damaged store log: the next start succeeds and reports the unusable part.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  httpAgent,
  postHook,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';

test('a gateway with a damaged store log reports the lost transactions, and accepts new events', async () => {
  const program = await startAgent();
  const config = { path: '/hooks/orders', webhook_secret: SECRET };
  const resources = [
    trigger('orders', { type: 'HTTP', config, default_agent: 'orders' }),
    httpAgent('orders', program.url),
  ];
  const before = await startAutomation({ resources });
  for (let n = 0; n < 20; n += 1)
    expect((await postHook(before.url, '/hooks/orders', { n })).status).toBe(202);
  await before.stop('SIGKILL');
  const log = join(before.folder, '.gateway', 'store.sqlite-wal');
  const bytes = readFileSync(log);
  writeFileSync(log, bytes.fill(0x2a, Math.floor(bytes.length / 2)));
  const gateway = await startAutomation({ folder: before.folder });
  const logLine = gateway
    .logs()
    .filter(({ msg }) => msg === 'store log is damaged: its last transactions are lost');
  expect(logLine).toMatchObject([
    { level: 'error', reason: expect.stringContaining('store.sqlite-wal.damaged') },
  ]);
  expect(existsSync(`${log}.damaged`)).toBe(true);
  expect((await fetch(`${gateway.url}/deliveries`)).status).toBe(200);
  expect((await postHook(gateway.url, '/hooks/orders', { n: 20 })).status).toBe(202);
  expect(await gateway.stop()).toBe(0);
});
