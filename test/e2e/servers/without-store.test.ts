// A gateway without triggers has no store: no file, no thread, and no loaded code. The process reports the
// loaded code as coverage when it exits.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { httpAgent, SECRET, startAutomation, trigger } from '../../fixtures/automation/automation.ts';
import { apiServer, call, rpc } from '../../fixtures/clients/api-client.ts';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
} from '../../fixtures/gateway/gateway-process.ts';

interface Coverage {
  readonly result: readonly { readonly url: string }[];
}

/** Names of the scripts loaded by the gateway. */
async function loadedBy(gateway: GatewayProcess, folder: string): Promise<readonly string[]> {
  expect(await gateway.stop()).toBe(0);
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  const urls = files.flatMap((text) => (JSON.parse(text) as Coverage).result.map(({ url }) => url));
  return urls.filter((url) => url.includes('/dist/')).map((url) => url.replace(/^.*\//, ''));
}

const ofStore = /^(open-store|store-worker|automate)/;

test('a gateway without triggers opens no store, and loads no code for it', async () => {
  const folder = temporaryFolder();
  const gateway = await startGateway({ env: { NODE_V8_COVERAGE: folder }, servers: { api: apiServer() } });
  expect((await rpc(gateway.url, 'api', call('echo', { text: 'hello' }))).status).toBe(200);
  expect(existsSync(join(gateway.folder, '.gateway', 'store.sqlite'))).toBe(false);
  const loaded = await loadedBy(gateway, folder);
  expect(loaded).toContain('main.js');
  expect(loaded.filter((name) => ofStore.test(name))).toEqual([]);
});

test('a gateway with triggers opens a store and loads the code, which verifies the check of the previous test', async () => {
  const folder = temporaryFolder();
  const hook = { type: 'HTTP', config: { path: '/hooks/a', webhook_secret: SECRET }, default_agent: 'a' };
  const gateway = await startAutomation({
    env: { NODE_V8_COVERAGE: folder },
    resources: [trigger('orders', hook), httpAgent('a', 'http://127.0.0.1:9/')],
  });
  expect(existsSync(join(gateway.folder, '.gateway', 'store.sqlite'))).toBe(true);
  const loaded = await loadedBy(gateway, folder);
  expect(loaded.filter((name) => ofStore.test(name)).length).toBeGreaterThan(1);
});
