// Alarms of the gateway, each caused by a real fault: in `/health`, `/stats`, the commands and the log.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import type { AlarmRecord } from '../../../src/http/api/alarm-shapes.ts';
import {
  httpAgent,
  postHook,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import {
  ask,
  EventReader,
  eventually,
  initialize,
  introduction,
  message,
  post,
} from '../../fixtures/clients/api-client.ts';
import { withoutStalls } from '../../fixtures/gateway/alarms.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';

const root = resolve(import.meta.dirname, '../../..');
const faults = pathToFileURL(join(root, 'test/fixtures/gateway/process-faults.mjs')).href;
/** The system resolves this address to 127.0.0.1, but the gateway treats it as public. */
const PUBLIC_ADDRESS = '0x7f000001:0';

async function allAlarmsOf({ url }: GatewayProcess): Promise<readonly AlarmRecord[]> {
  return (await ask(`${url}/stats`)).json.alarms;
}

const alarmsOf = async (gateway: GatewayProcess) => withoutStalls(await allAlarmsOf(gateway));

const codesOf = async (gateway: GatewayProcess) => (await alarmsOf(gateway)).map(({ code }) => code);

/** Returns the alarm with this code when it is active. */
function raised(gateway: GatewayProcess, code: string): Promise<AlarmRecord> {
  return eventually(`the alarm ${code}`, async () =>
    (await allAlarmsOf(gateway)).find((alarm) => alarm.code === code),
  );
}

/** Returns the messages of the log about an alarm. */
const logOf = (gateway: GatewayProcess, code: string) =>
  gateway.logs().flatMap(({ alarm, level, msg }) => (alarm === code ? [`${level} ${msg}`] : []));

const hookOf = (program: string) => [
  trigger('orders', {
    type: 'HTTP',
    config: { path: '/hooks/orders', webhook_secret: SECRET },
    default_agent: 'orders',
  }),
  httpAgent('orders', program),
];

test.concurrent('a gateway without a fault has no alarm', async () => {
  const gateway = await startGateway({});
  expect((await ask(`${gateway.url}/health`)).json).toMatchObject({
    status: 'ok',
    alarms: expect.any(Array),
  });
  expect(await alarmsOf(gateway)).toEqual([]);
  const { stdout } = await runMain(['stats', '--url', gateway.url]);
  expect(stdout).not.toContain('ERROR');
});

test.concurrent('an alarm reports that triggers are blocked while the store file cannot be written', async () => {
  const program = await startAgent();
  const gateway = await startAutomation({ resources: hookOf(program.url) });
  const { url, pid } = gateway;
  const limitFiles = (bytes: string) =>
    execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
  const hook = async (n: number) => (await postHook(url, '/hooks/orders', { n })).status;
  expect(await hook(1)).toBe(202);
  limitFiles('1024');
  expect(await hook(2)).toBe(503);
  const alarm = await raised(gateway, 'store_unavailable');
  expect(alarm).toMatchObject({ severity: 'error', count: null });
  expect(alarm.message).toMatch(
    /store\.sqlite had a disk error; check the system log \(SQLITE_IOERR_WRITE\)/,
  );
  const health = await ask(`${url}/health`);
  expect(health.status).toBe(200);
  const { code, severity, since, count } = alarm;
  expect(health.json.alarms[0]).toEqual({ code, severity, since, count });

  const blocked = { state: 'open', blocked_by: 'store_unavailable' };
  expect((await ask(`${url}/triggers/orders`)).json).toMatchObject(blocked);
  expect((await ask(`${url}/stats`)).json.triggers.orders).toMatchObject(blocked);
  const [stats, triggers, shown, top] = await Promise.all(
    [['stats'], ['triggers'], ['triggers', 'show', 'orders'], ['top', '--once']].map(
      async (words) => (await runMain([...words, '--url', url])).stdout,
    ),
  );
  const line = /ERROR store_unavailable for \d+s: the store .* had a disk error/;
  expect(stats).toMatch(line);
  expect(stats).toMatch(/triggers +1 trigger: 1 open, 1 blocked/);
  expect(triggers).toMatch(
    /orders +HTTP .* open, blocked .* refuses events: store_unavailable; "stats" shows/,
  );
  expect(shown).toMatch(/^state +open, blocked\nblocked +refuses events: store_unavailable/m);
  expect(top?.split('\n')[1]).toMatch(line);
  expect(top).toMatch(/orders +open, blocked .*\n +refuses events: store_unavailable/);

  limitFiles('unlimited');
  await eventually('the end of the alarm', async () => (await alarmsOf(gateway)).length === 0);
  expect((await ask(`${url}/triggers/orders`)).json).toMatchObject({ state: 'open', blocked_by: null });
  expect(await hook(2)).toBe(202);
  expect(logOf(gateway, 'store_unavailable')).toEqual(['error alarm raised', 'info alarm cleared']);
});

test.concurrent('an alarm reports configuration files that would be invalid at a restart, until they are corrected', async () => {
  const gateway = await startAutomation({ resources: hookOf('http://127.0.0.1:9/'), isWatched: true });
  const { url, folder } = gateway;
  const settings = join(folder, 'gateway.yaml');
  const valid = {
    spec: { triggers: { directory: './triggers', watch: true }, agents: { directory: './agents' } },
  };
  const write = (more: object) =>
    writeFileSync(
      settings,
      JSON.stringify({ listen_addr: '127.0.0.1:0', catalog_path: './catalog.yaml', ...valid, ...more }),
    );
  write({ listen_adr: 1, api_keys: 2 });
  const refusal = await ask(`${url}/admin/reload`, { method: 'POST' });
  expect(refusal.status).toBe(422);
  const alarm = await raised(gateway, 'configuration_invalid');
  expect(alarm.severity).toBe('error');
  expect(alarm.message).toMatch(
    /^the previous configuration stays in use, and a restart would fail: .*gateway\.yaml:1:\d+: .*listen_adr.* \(and 1 more\); correct the files, then reload$/,
  );
  expect((await ask(`${url}/health`)).status).toBe(200);
  write({});
  expect((await ask(`${url}/admin/reload`, { method: 'POST' })).status).toBe(200);
  expect(await codesOf(gateway)).toEqual([]);

  // A changed file in the watched folder, without a reload.
  writeFileSync(join(folder, 'triggers', 'orders.yaml'), 'kind: Trigger\nspec: [');
  expect((await raised(gateway, 'configuration_invalid')).message).toContain('orders.yaml');
  const [{ kind, name, spec }] = hookOf('http://127.0.0.1:9/') as [
    { kind: string; name: string; spec: object },
  ];
  writeFileSync(
    join(folder, 'triggers', 'orders.yaml'),
    JSON.stringify({ apiVersion: 'example.com/v1', kind, metadata: { name }, spec }),
  );
  await eventually('the end of the alarm', async () => (await alarmsOf(gateway)).length === 0);
  const both = ['error alarm raised', 'info alarm cleared'];
  expect(logOf(gateway, 'configuration_invalid')).toEqual([...both, ...both]);
});

test.concurrent('an alarm reports a public address without a key', async () => {
  const gateway = await startGateway({ settings: { listen_addr: PUBLIC_ADDRESS } });
  expect(await alarmsOf(gateway)).toMatchObject([
    {
      code: 'listener_without_key',
      severity: 'warning',
      message: `every client that reaches ${PUBLIC_ADDRESS} can call every tool; set api_key, or listen on loopback`,
    },
  ]);
  expect(logOf(gateway, 'listener_without_key')).toEqual(['warn alarm raised']);
  const keyed = await startGateway({ settings: { listen_addr: PUBLIC_ADDRESS, api_key: 'correct horse' } });
  expect(keyed.text()).not.toContain('listener_without_key');
});

test.concurrent('an alarm reports that node:http replaces a missing uWebSockets.js, but none if node:http was configured', async () => {
  const hide = ['node_modules/uWebSockets.js', 'dist/uWebSockets.js']
    .map((folder) => `mount -t tmpfs tmpfs '${join(root, folder)}'`)
    .join(' && ');
  const launcher = ['unshare', '--map-root-user', '--mount', 'sh', '-c', `${hide} && exec "$@"`, 'sh'];
  const gateway = await startGateway({ http: 'uws', launcher });
  const [alarm] = await alarmsOf(gateway);
  expect(alarm).toMatchObject({ code: 'fallback_listener', severity: 'warning' });
  expect(alarm?.message).toMatch(
    /^node:http serves at half the speed, because uWebSockets\.js does not load here: /,
  );
  const selected = await startGateway({ http: 'node', launcher });
  expect(await alarmsOf(selected)).toEqual([]);
});

test.concurrent('alarms report a clock step, a blocked event loop and a suspended process', async () => {
  const startWith = (fault: string) =>
    startGateway({ env: { FAULT: fault, NODE_OPTIONS: `--import=${faults}` } });
  const [clock, loop, suspended] = await Promise.all([
    startWith('clock'),
    startWith('loop'),
    startGateway({}),
  ]);
  process.kill(clock.pid, 'SIGUSR2');
  process.kill(loop.pid, 'SIGUSR2');
  process.kill(suspended.pid, 'SIGSTOP');
  setTimeout(() => process.kill(suspended.pid, 'SIGCONT'), 3_500);
  expect(await raised(clock, 'clock_changed')).toMatchObject({
    severity: 'warning',
    count: 1,
    message: expect.stringMatching(
      /^the system clock was set forward by 3600\.\d s, or the machine was suspended; /,
    ),
  });
  // On a loaded machine a busy process gets little processor time, too.
  expect((await raised(loop, 'event_loop_stalled')).message).toMatch(
    /^the gateway handled nothing for \d+\.\d s, because (its own work blocked|its process was suspended)/,
  );
  expect((await raised(suspended, 'event_loop_stalled')).message).toMatch(
    /^the gateway handled nothing for \d+\.\d s, because its process was suspended, or got too little /,
  );
  expect(logOf(suspended, 'event_loop_stalled')).toEqual(['warn alarm raised']);
});

test.concurrent('all requests that a session limit refuses are counted in one alarm', async () => {
  const gateway = await startGateway({ settings: { limits: { sessions: 1 } } });
  const address = `${gateway.url}/mcp`;
  // An idle session would make room for the next one.
  const stream = new EventReader(address, { headers: await initialize(address) });
  await stream.opened();
  for (let n = 0; n < 3; n += 1) {
    const { json } = await post(address, message('initialize', introduction('2025-06-18')));
    expect(json.error.data.reason).toBe('ERR_OVERLOADED');
  }
  expect(await alarmsOf(gateway)).toMatchObject([
    {
      code: 'requests_refused',
      severity: 'warning',
      count: 3,
      message: expect.stringMatching(
        /^limits refuse requests, the last one because .*raise limits\.sessions$/,
      ),
    },
  ]);
  expect(logOf(gateway, 'requests_refused')).toEqual(['warn alarm raised']);
  stream.drop();
});
