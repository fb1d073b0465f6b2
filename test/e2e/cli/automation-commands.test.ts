// Commands for triggers and deliveries of running gateways. Resource files are checked without a gateway.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  agent,
  eventually,
  httpAgent,
  postHook,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
  writeResources,
} from '../../fixtures/automation/automation.ts';
import { temporaryFolder, writeConfiguration } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';

const orders = trigger('orders', {
  type: 'HTTP',
  config: { path: '/hooks/orders', webhook_secret: SECRET, key: 'body:c' },
  default_agent: 'orders',
});

async function setUp() {
  const program = await startAgent();
  const agents = httpAgent('orders', program.url);
  const gateway = await startAutomation({ resources: [orders, agents] });
  const run = (...args: string[]) =>
    runMain([...args, '--url', gateway.url], { env: { GATEWAY_API_KEY: '' } });
  return { gateway, agents, run };
}

test('`triggers pause` prints one line, and `deliveries --conversation` lists the held events', async () => {
  const { gateway, run } = await setUp();
  expect((await run('triggers', 'pause', 'orders')).stdout).toBe('orders is paused\n');
  await postHook(gateway.url, '/hooks/orders', { c: 'a' }, { 'idempotency-key': '1' });
  await postHook(gateway.url, '/hooks/orders', { c: 'b' }, { 'idempotency-key': '2' });
  await eventually(async () => {
    const { stdout } = await run('deliveries', 'show', 'http:orders/1');
    expect(stdout).toMatch(/^state +held$/m);
    const key = /^conversation +(.*)$/m.exec(stdout)?.[1] ?? '';
    const listed = await run('deliveries', '--conversation', key);
    expect(listed.stdout.match(/http:orders\/\d/g)).toEqual(['http:orders/1']);
  });
});

test('the command `reload` reports the changes of triggers', async () => {
  const { gateway, agents, run } = await setUp();
  const more = trigger('more', { type: 'Manual', config: {}, default_agent: 'orders' });
  writeResources(gateway.folder, [orders, more, agents]);
  expect((await run('reload')).stdout).toMatch(/^triggers\n {2}added +more\n {2}changed +none\n/m);
});

test('--check reports problems of triggers and agents like a start', async () => {
  const folder = temporaryFolder();
  const settings = { spec: { triggers: { directory: './triggers' }, agents: { directory: './agents' } } };
  const config = writeConfiguration(folder, { settings });
  const unreachable = agent('orders', { runtime: { http: { url: 'http://127.0.0.1:9/' } } });
  writeResources(folder, [orders, unreachable]);
  const good = await runMain(['--config', config, '--check']);
  expect([good.code, good.stdout]).toEqual([
    0,
    expect.stringMatching(/with 1 trigger and 1 agent\n {2}orders {2}HTTP\n {2}orders {2}Agent {2}http\n$/),
  ]);
  writeResources(folder, [orders]);
  const bad = await runMain(['--config', config, '--check', '--json']);
  const { ok, problems } = JSON.parse(bad.stdout) as { ok: boolean; problems: object[] };
  expect([bad.code, ok]).toEqual([2, false]);
  expect(problems).toContainEqual(
    expect.objectContaining({
      file: expect.stringContaining(join('triggers', 'orders.yaml')),
      message: 'spec.default_agent: there is no agent orders',
      severity: 'error',
    }),
  );
});

test('a start and --check report all errors of the catalog and the triggers together', async () => {
  const folder = temporaryFolder();
  const settings = { spec: { triggers: { directory: './triggers' }, agents: { directory: './agents' } } };
  const config = writeConfiguration(folder, { settings });
  writeFileSync(join(folder, 'catalog.yaml'), 'servers: { one: { comand: node } }\n');
  writeResources(folder, [orders]);
  for (const more of [[], ['--check']]) {
    const { code, stderr } = await runMain(['--config', config, ...more]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/catalog\.yaml:1:19: servers\.one\.comand: unknown key/);
    expect(stderr).toMatch(/triggers\/orders\.yaml:\d+:\d+: spec\.default_agent: there is no agent orders\n/);
  }
});

test('a schedule with overlap: replace aborts the run of its previous time when the next time is due', async () => {
  const program = await startAgent(() => new Promise(() => {}));
  const gateway = await startAutomation({
    resources: [
      trigger('often', {
        type: 'Schedule',
        config: { cron: '* * * * * *', overlap: 'replace' },
        default_agent: 'orders',
      }),
      httpAgent('orders', program.url),
    ],
  });
  await eventually(async () => {
    const answer = await fetch(`${gateway.url}/deliveries?state=ignored&source=schedule`);
    const { deliveries } = (await answer.json()) as { deliveries: object[] };
    expect(deliveries).toContainEqual(
      expect.objectContaining({ attempts: 1, note: expect.stringMatching(/^replaced by schedule:often:/) }),
    );
  });
});
