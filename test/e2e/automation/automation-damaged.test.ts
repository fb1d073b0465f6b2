// A gateway that was killed finds the log of its store damaged: it starts, and says what it could not use.

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

test('a log of the store that has lost its end is told of in the log of the gateway, and everything else goes on', async () => {
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
  const told = gateway.logs().filter(({ msg }) => msg === 'the store has lost the end of its log');
  expect(told).toMatchObject([
    { level: 'error', reason: expect.stringContaining('store.sqlite-wal.damaged') },
  ]);
  expect(existsSync(`${log}.damaged`)).toBe(true);
  expect((await fetch(`${gateway.url}/deliveries`)).status).toBe(200);
  expect((await postHook(gateway.url, '/hooks/orders', { n: 20 })).status).toBe(202);
  expect(await gateway.stop()).toBe(0);
});
