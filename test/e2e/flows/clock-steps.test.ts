// Steps of the system clock by an hour during waits of flows and during downtime. A preloaded script replaces
// `Date.now` in the gateway and the store thread, with an offset from a file.

import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually, flow, startAutomation } from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import { temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';

const HOUR_MS = 3_600_000;
const WAIT_SECONDS = 6;

const site = createServer((_, response) => response.writeHead(503).end());
beforeAll(() => new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve)));
afterAll(() => void site.close());

const last = { id: 'last', type: 'Response', config: { text: 'over' } };
const flowOf = (name: string, node: object) =>
  flow(name, { nodes: [{ id: 'first', ...node }, last], connections: [{ from: 'first', to: 'last' }] });
const resources = () => [
  flowOf('wait', { type: 'Wait', config: { seconds: WAIT_SECONDS } }),
  flowOf('retry', {
    type: 'HTTP',
    config: { url: `http://127.0.0.1:${(site.address() as AddressInfo).port}` },
    retry: { attempts: 2, min_backoff_seconds: WAIT_SECONDS },
  }),
  flowOf('ask', { type: 'Approval', config: { message: 'x', approvers: ['ada'], timeout_seconds: 1_800 } }),
  flowOf('limit', { type: 'Wait', config: { seconds: 900 } }),
];

/** Starts the gateway with a clock that `set` steps. */
async function start(folder = temporaryFolder(), offsetMs = 0) {
  const file = join(folder, 'offset');
  const set = (ms: number) => writeFileSync(file, String(ms));
  set(offsetMs);
  writeFileSync(
    join(folder, 'clock.cjs'),
    `const { readFileSync } = require('node:fs');
     const real = Date.now;
     let readAt = -1000, offset = 0;
     Date.now = () => {
       if (performance.now() - readAt > 50) {
         readAt = performance.now();
         try { offset = Number(readFileSync(${JSON.stringify(file)}, 'utf8')); } catch {}
       }
       return real() + offset;
     };`,
  );
  const env = { NODE_OPTIONS: `--require ${join(folder, 'clock.cjs')}` };
  const gateway = await startAutomation({ folder, resources: resources(), env });
  return { gateway, set, folder };
}

type Started = Awaited<ReturnType<typeof start>>;

const begin = async ({ gateway }: Started, name: string): Promise<string> => {
  const headers = { 'content-type': 'application/json' };
  const url = `${gateway.url}/flows/${name}/runs`;
  return (await ask(url, { method: 'POST', headers, body: '{"input":"x"}' })).json.id;
};
const show = async ({ gateway }: Started, id: string) =>
  (await ask(`${gateway.url}/runs/${encodeURIComponent(id)}`)).json;
const waitForState = (started: Started, id: string, state: string) =>
  eventually(async () => expect((await show(started, id)).state).toBe(state), 30_000);

describe.concurrent.each([HOUR_MS, -HOUR_MS])('a clock step of %i ms', (byMs) => {
  test('neither extends nor ends a Wait, a retry delay and an approval', async () => {
    const started = await start();
    const names = ['wait', 'retry', 'ask', 'limit'];
    const [wait = '', retry = '', approval = '', limit = ''] = await Promise.all(
      names.map((name) => begin(started, name)),
    );
    const beganAt = performance.now();
    await waitForState(started, wait, 'waiting');
    started.set(byMs);
    await delay(1_000);
    expect((await show(started, wait)).state).toBe('waiting');
    await waitForState(started, wait, 'done');
    expect(performance.now() - beganAt).toBeGreaterThan(WAIT_SECONDS * 1_000);
    await waitForState(started, retry, 'failed');
    // The list and the record are read after the step.
    const { approvals } = (await ask(`${started.gateway.url}/approvals`)).json;
    expect(approvals.map(({ state }: { state: string }) => state)).toEqual(['pending']);
    expect((await show(started, approval)).state).toBe('waiting');
    expect((await show(started, limit)).state).toBe('waiting');
    await started.gateway.stop('SIGKILL');
  });

  test('before a restart does not matter afterwards', async () => {
    const first = await start();
    const [wait = '', approval = ''] = await Promise.all(['wait', 'ask'].map((name) => begin(first, name)));
    await waitForState(first, wait, 'waiting');
    first.set(byMs);
    await delay(200);
    // A write lets the store notice the step.
    await begin(first, 'wait');
    await first.gateway.stop('SIGKILL');
    const second = await start(first.folder, byMs);
    await waitForState(second, wait, 'done');
    expect((await show(second, approval)).state).toBe('waiting');
    await second.gateway.stop('SIGKILL');
  });
});

test('a clock that is set back while the gateway is down neither extends nor ends a Wait and an approval', async () => {
  const first = await start();
  const [wait = '', approval = ''] = await Promise.all(['wait', 'ask'].map((name) => begin(first, name)));
  await waitForState(first, wait, 'waiting');
  await first.gateway.stop('SIGKILL');
  const second = await start(first.folder, -HOUR_MS);
  // The wait grows by the interval of the clock records, ten seconds.
  await waitForState(second, wait, 'done');
  expect((await show(second, approval)).state).toBe('waiting');
  await second.gateway.stop('SIGKILL');
});
