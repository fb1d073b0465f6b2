// The logs command, and the reason of a failed server in the server table, with a running gateway.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { beforeAll, expect, test } from 'vitest';
import { agent, postHook, SECRET, startAutomation, trigger } from '../../fixtures/automation/automation.ts';
import { apiServer, ask, call, eventually, rpc } from '../../fixtures/clients/api-client.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { mainFile, runMain } from '../../fixtures/gateway/run-main.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const env = { GATEWAY_API_KEY: '' };
const secret = 'hush-hush-4711';

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGateway({
    servers: {
      loud: fault('echo', { env: { TOKEN: secret } }),
      calm: fault('echo'),
      shop: apiServer({ env: { TOKEN: secret } }),
      broken: fault('exits-at-once', { env: { TOKEN: secret }, restart: { intensity: 0 } }),
    },
  });
});

const run = (args: readonly string[]) => runMain([...args, '--url', gateway.url], { env });
const writeStderr = (stderr: string) => rpc(gateway.url, 'loud', call('say', { stderr }));
const linesAt = async (query: string): Promise<readonly { server: string; from: string; text: string }[]> =>
  (await ask(`${gateway.url}/logs?${query}`)).json.lines;

test('`logs` prints the lines of servers with their names, without secrets, and follows new lines', async () => {
  await rpc(gateway.url, 'calm', call('say', { stderr: 'calm is here' }));
  await writeStderr(`the token is ${secret}`);
  await eventually('the stored line', async () =>
    (await linesAt('server=loud')).some(({ from }) => from === 'stderr'),
  );
  const { code, stdout } = await run(['logs']);
  expect(code).toBe(0);
  expect(stdout.split('\n')).toEqual(
    expect.arrayContaining([
      'calm | info  calm is here',
      'calm | info  gateway: server state (from=starting, state=running)',
      'loud | info  the token is [redacted]',
    ]),
  );
  const json = await run(['logs', '--server', 'calm', '--json', '--since', '10m', '--lines', '1']);
  expect(JSON.parse(json.stdout)).toEqual({
    at: expect.any(String),
    kind: 'server',
    name: 'calm',
    server: 'calm',
    level: 'info',
    from: 'stderr',
    text: 'calm is here',
  });

  const child = spawn(
    process.execPath,
    [mainFile, 'logs', '-f', '--server', 'loud', '--lines', '0', '--url', gateway.url],
    {
      env: { ...process.env, ...env },
      timeout: 60_000,
    },
  );
  let followed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    followed += text;
  });
  await eventually('it follows', async () => {
    await writeStderr('a word');
    return followed.includes('loud | info  a word\n');
  });
  // A flood of one server's lines does not displace the stored lines of another server. No control character
  // reaches the terminal, and the followed output has no lines of other servers.
  await writeStderr(Array.from({ length: 2_000 }, (_, at) => `\u001b]0;noise ${at}\u0007`).join('\n'));
  await eventually(
    'the notice of dropped lines',
    () => /more lines? not shown/.test(followed) || writeStderr('more').then(() => false),
  );
  expect(followed).not.toContain('\u001b');
  expect(followed).not.toContain('calm');
  expect((await linesAt('server=calm')).filter(({ from }) => from === 'stderr')).toHaveLength(1);
  child.kill('SIGINT');
  await once(child, 'exit');
});

test('`logs` rejects an unknown server, with a similar name, and an invalid time', async () => {
  const unknown = await run(['logs', '--server', 'clam']);
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('did you mean calm?')]);
  const never = await run(['logs', '--since', 'never']);
  expect([never.code, never.stderr]).toEqual([2, expect.stringContaining('such as 15m')]);
});

test('the server table shows the failure reason and the time of the next start', async () => {
  await run(['servers', 'start', 'broken']);
  const { stdout } = await run(['servers']);
  expect(stdout).toMatch(/REASON\n/);
  expect(stdout).toMatch(/^broken +failed .* (?:parked|backing off|failed), next try .*: .*was rejected/m);
  expect(stdout).not.toContain(secret);
});

test('stderr lines, log messages of a server and gateway lines about it have a level', async () => {
  await writeStderr('TypeError: no such thing\n    at main (a.js:1)\nDEBUG: a detail');
  await rpc(gateway.url, 'shop', call('log', { level: 'critical', logger: 'db', data: `lost ${secret}` }));
  await run(['servers', 'start', 'broken']);
  const warningLines = async () => (await run(['logs', '--level', 'warning'])).stdout.split('\n');
  const expected = [
    /^loud +\| error TypeError: no such thing$/,
    /^loud +\| error {5}at main \(a\.js:1\)$/,
    /^shop +\| error db: lost \[redacted\]$/,
    /^broken +\| warn {2}gateway: server failed: .*(?:exited with code 4|was rejected)/,
  ];
  await eventually('all lines', async () => {
    const lines = await warningLines();
    return expected.every((each) => lines.some((line) => each.test(line)));
  });
  expect((await warningLines()).filter((line) => /\| (?:info|debug) /.test(line))).toEqual([]);
  const { code, stderr } = await run(['logs', '--level', 'loud']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('Expected one of debug, info, warn, error.')]);
  const refusal = await ask(`${gateway.url}/logs?level=loud`);
  expect([refusal.status, refusal.json.message]).toEqual([
    400,
    expect.stringContaining('debug, info, warn, error'),
  ]);
});

test('lines of triggers, agents, the store and the gateway are shown with their source', async () => {
  const { url } = await startAutomation({
    resources: [
      trigger('orders', {
        type: 'HTTP',
        config: { path: '/hooks/orders', webhook_secret: SECRET },
        default_agent: 'clerk',
        retry: { attempts: 1 },
      }),
      agent('clerk', { runtime: { http: { url: 'http://127.0.0.1:9/' } } }),
    ],
  });
  const at = (...args: string[]) => runMain(['logs', ...args, '--url', url], { env });
  await postHook(url, '/hooks/orders', { text: 'hello' }, { 'idempotency-key': '1' });
  await eventually('the line of the trigger', async () =>
    /^trigger\/orders +\| error delivery is dead: /m.test((await at('--trigger', 'orders')).stdout),
  );
  expect((await at('--trigger', 'orders')).stdout).not.toMatch(/^(?!trigger\/orders )./m);
  await ask(`${url}/admin/reload`, { method: 'POST' });
  expect((await at('--kind', 'gateway')).stdout).toMatch(/^gateway \| info {2}triggers reloaded/m);
  const json = JSON.parse((await at('--trigger', 'orders', '--json', '--lines', '1')).stdout);
  expect(json).toMatchObject({ kind: 'trigger', name: 'orders', server: null, from: 'gateway' });
  const none = await at('--agent', 'nobody');
  expect([none.code, none.stderr]).toEqual([0, 'no lines of nobody since the gateway started\n']);
  const both = await ask(`${url}/logs?trigger=orders&kind=store`);
  expect([both.status, both.json.message]).toEqual([400, expect.stringContaining('use only one of')]);
});

test('a result with isError is counted apart from failed calls, and logged', async () => {
  const before = (await ask(`${gateway.url}/servers/shop`)).json;
  await rpc(gateway.url, 'shop', call('reject'));
  await rpc(gateway.url, 'shop', call('fail'));
  const { requests, failed, tool_errors } = (await ask(`${gateway.url}/servers/shop`)).json;
  expect({ requests, failed, tool_errors }).toEqual({
    requests: before.requests + 2,
    failed: before.failed + 1,
    tool_errors: before.tool_errors + 1,
  });
  const { stdout } = await run(['logs', '--server', 'shop']);
  expect(stdout).toMatch(/gateway: call \(.*tool=reject, outcome=tool_error/);
  expect((await run(['servers'])).stdout).toMatch(/^SERVER .* FAILED {2}TOOL ERRORS /m);
});
