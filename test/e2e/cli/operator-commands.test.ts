// Operator commands of gateway-http, with a running gateway.

import { chmodSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiServer, ask, call, eventually, rpc } from '../../fixtures/clients/api-client.ts';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
  writeConfiguration,
} from '../../fixtures/gateway/gateway-process.ts';
import { type RunOptions, runMain } from '../../fixtures/gateway/run-main.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const key = 'the-operators-key-4711';
/** Without the key in the environment of the tests. */
const bare = { GATEWAY_API_KEY: '' };

const servers = {
  files: apiServer(),
  other: apiServer(),
  off: apiServer({ enabled: false }),
  broken: fault('exits-at-once', { env: { TOKEN: 'hush-hush-4711' }, restart: { intensity: 0 } }),
};

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGateway({ servers });
});

/** Runs a command for the gateway of this file. */
const run = (args: readonly string[], options: RunOptions = {}) =>
  runMain([...args, '--url', gateway.url], { ...options, env: { ...bare, ...options.env } });

const state = async (id: string): Promise<string> => (await ask(`${gateway.url}/servers/${id}`)).json.state;

describe('the command `servers`', () => {
  test('prints a table of all servers, as plain text if stdout is no terminal', async () => {
    const { code, stdout, stderr } = await run(['servers']);
    expect([code, stderr]).toEqual([0, '']);
    const [title = '', ...rows] = stdout.trimEnd().split('\n');
    // The REASON column appears only if a server has failed.
    expect(title.split(/ {2,}/).filter((word) => word !== 'REASON')).toEqual([
      'SERVER',
      'STATE',
      'RUNTIME',
      'IN FLIGHT',
      'WAITING',
      'REQUESTS',
      'FAILED',
      'TOOL ERRORS',
      'RESTARTS',
      'UPTIME',
      'P50',
      'P95',
    ]);
    expect(rows.map((row) => row.split(/\s+/).slice(0, 3))).toEqual([
      ['files', 'stopped', 'stdio'],
      ['other', 'stopped', 'stdio'],
      ['off', 'disabled', 'stdio'],
      ['broken', expect.stringMatching(/stopped|failed/), 'stdio'],
    ]);
    expect(stdout).not.toContain('\u001b');
  });

  test('prints the API response with --json', async () => {
    const { code, stdout } = await run(['servers', '--json']);
    const { json } = await ask(`${gateway.url}/servers`);
    expect([code, JSON.parse(stdout)]).toEqual([0, json]);
    expect(stdout.trimEnd()).not.toContain('\n');
  });

  test('shows one server with connections, tools and latencies', async () => {
    await run(['servers', 'start', 'other']);
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pid","arguments":{}}}';
    const headers = { 'content-type': 'application/json', 'x-mcp-server': 'other' };
    await ask(`${gateway.url}/rpc`, { method: 'POST', headers, body });
    const { json } = await ask(`${gateway.url}/servers/other`);
    const { code, stdout } = await run(['servers', 'show', 'other']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^state {2,}running$/m);
    expect(stdout).toMatch(/^requests {2,}1, 0 failed, 0 tool errors$/m);
    expect(stdout).toMatch(/^latency {2,}p50 [\d.]+ms, p95 [\d.]+ms/m);
    expect(stdout).toMatch(new RegExp(`^tools {2,}${json.tools.length}$`, 'm'));
    expect(stdout).toMatch(
      new RegExp(`^ *${json.pids[0]} +shared +yes +0 +${json.connections[0].protocol_version}$`, 'm'),
    );
    const output = await run(['servers', 'show', 'other', '--json']);
    expect(JSON.parse(output.stdout)).toMatchObject({ id: 'other', pids: json.pids, tools: json.tools });
  });

  test('suggests the id that was probably meant', async () => {
    const { code, stdout, stderr } = await run(['servers', 'show', 'fles']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe('there is no server "fles"; did you mean files?\n');
  });

  test('lists the existing ids for an unknown id', async () => {
    for (const id of ['zzzzzz', '..', 'a/b', '%2e']) {
      const { code, stderr } = await run(['servers', 'show', id]);
      expect([code, stderr]).toEqual([
        1,
        `there is no server ${JSON.stringify(id)}; there are files, other, off, broken\n`,
      ]);
    }
  });
});

describe('the commands `start` and `stop`', () => {
  test('start and stop a server', async () => {
    const started = await run(['servers', 'start', 'files']);
    expect(started).toMatchObject({ code: 0, stderr: '' });
    expect(started.stdout).toMatch(/^files is running \(pid \d+\)\n$/);
    expect(await state('files')).toBe('running');
    expect(await run(['servers', 'stop', 'files'])).toEqual({
      code: 0,
      stdout: 'files is stopped\n',
      stderr: '',
    });
    expect(await state('files')).toBe('stopped');
  });

  test('print the record with --json', async () => {
    const { stdout } = await run(['servers', 'start', 'files', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ id: 'files', state: 'running' });
    const stopped = await run(['servers', 'stop', 'files', '--json']);
    expect(JSON.parse(stopped.stdout)).toMatchObject({ id: 'files', state: 'stopped', pids: [] });
  });

  test('report the reason of a failed start with the last stderr lines', async () => {
    const { code, stdout, stderr } = await run(['servers', 'start', 'broken']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^server broken could not be started: .*exited with code 4/);
    expect(stderr).toMatch(/^ {2}stderr: reading the settings$/m);
    expect(stderr).toMatch(/^ {2}stderr: the key \[redacted\] was rejected by the API$/m);
  });

  test('print the API response with --json also for a failure', async () => {
    const { code, stdout, stderr } = await run(['servers', 'start', 'broken', '--json']);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ error: 'Bad Gateway', stderr: expect.any(Array) });
    expect(stderr).toContain('could not be started');
  });

  test('report a disabled server', async () => {
    const { code, stderr } = await run(['servers', 'start', 'off']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('is disabled')]);
  });
});

describe('the command `stats`', () => {
  test('shows counters, most failures first', async () => {
    await run(['servers', 'start', 'broken']);
    await eventually('the failure', async () => (await state('broken')) === 'failed');
    const { code, stdout } = await run(['stats']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^requests {2,}\d+, \d+ failed, \d+ tool errors$/m);
    expect(stdout).toMatch(/^servers {2,}4 servers: 1 failed, /m);
    const json = JSON.parse((await run(['stats', '--json'])).stdout);
    expect(json).toMatchObject({ sessions: 0, servers: { broken: { state: 'failed' } } });
  });
});

describe('the command `reload`', () => {
  test('reports the changes, and the errors of a wrong catalog', async () => {
    const own = await startGateway({ servers: { a: apiServer(), b: apiServer() } });
    own.writeCatalog({ a: apiServer(), c: apiServer() });
    const good = await runMain(['reload', '--url', own.url], { env: bare });
    expect(good).toMatchObject({ code: 0, stderr: '' });
    expect(good.stdout).toMatch(/^added +c\nchanged +none\nremoved +b\nunchanged +1\n$/);
    own.writeCatalog({ a: { comand: 'x' } });
    const bad = await runMain(['reload', '--url', own.url], { env: bare });
    expect([bad.code, bad.stdout]).toEqual([1, '']);
    expect(bad.stderr).toMatch(
      /^the configuration has errors and nothing was changed\n {2}.*catalog\.yaml:1:\d+: /,
    );
    await own.stop();
  });
});

describe('a gateway that requires an API key', () => {
  let guarded: GatewayProcess;
  let keyFile: string;
  beforeAll(async () => {
    guarded = await startGateway({ servers: { one: apiServer() }, settings: { api_key: key } });
    keyFile = join(guarded.folder, 'key');
    writeFileSync(keyFile, `${key}\n`);
    chmodSync(keyFile, 0o600);
  });
  afterAll(() => guarded.stop());

  const at = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    runMain([...args, '--url', guarded.url], { env: { ...bare, ...env } });

  test('is called with the key from the environment, or from a file', async () => {
    for (const [args, env] of [
      [['servers'], { GATEWAY_API_KEY: key }],
      [['servers', '--api-key-file', keyFile], {}],
      [['servers', '--api-key-file', keyFile], { GATEWAY_API_KEY: 'another' }],
      [['top', '--once'], { GATEWAY_API_KEY: key }],
    ] as const) {
      const { code, stdout } = await at(args, env);
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^one +stopped/m)]);
    }
  });

  test('called without a key causes an error that names the ways to provide it', async () => {
    for (const command of [['servers'], ['servers', 'start', 'one'], ['top'], ['top', '--once']]) {
      const { code, stdout, stderr } = await at(command);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toBe(`${guarded.url} requires a key; set GATEWAY_API_KEY or add --api-key-file FILE\n`);
    }
  });

  test('called with a wrong key causes an error that names its source, not the key', async () => {
    const { code, stderr } = await at(['servers'], { GATEWAY_API_KEY: 'not-the-right-one' });
    expect([code, stderr]).toEqual([1, `${guarded.url} refuses the key from GATEWAY_API_KEY\n`]);
  });

  test('refuses a missing or wrong key also if --url ends in /mcp', async () => {
    const url = `${guarded.url}/mcp`;
    const none = await runMain(['servers', '--url', url], { env: bare });
    expect([none.code, none.stderr]).toEqual([
      1,
      `${url} requires a key; set GATEWAY_API_KEY or add --api-key-file FILE\n`,
    ]);
    const rejectedRun = await runMain(['servers', '--url', url], {
      env: { ...bare, GATEWAY_API_KEY: 'wrong-key' },
    });
    expect([rejectedRun.code, rejectedRun.stderr]).toEqual([
      1,
      `${url} refuses the key from GATEWAY_API_KEY\n`,
    ]);
  });

  test('causes a usage error for a key file that is empty or missing', async () => {
    const empty = join(guarded.folder, 'empty');
    writeFileSync(empty, '\n');
    for (const [file, reason] of [
      [empty, 'the first line is empty; write the key there'],
      [join(guarded.folder, 'gone'), 'the file does not exist'],
      [guarded.folder, 'cannot be read (EISDIR)'],
    ] as const) {
      const { code, stderr } = await at(['servers', '--api-key-file', file]);
      expect([code, stderr]).toEqual([2, `error: --api-key-file ${file}: ${reason}\n`]);
    }
  });
});

describe('the gateway address of a command', () => {
  test('is read from the configuration, also if other parts of it cannot be read', async () => {
    const folder = temporaryFolder();
    const settings = { listen_addr: `0.0.0.0:${gateway.port}`, api_key: `\${NO_SUCH_KEY}` };
    const config = writeConfiguration(folder, { settings, catalogText: `a: \${NO_SUCH_TOKEN}` });
    const { code, stdout } = await runMain(['stats', '--config', config], { env: bare });
    expect([code, stdout]).toEqual([0, expect.stringContaining('4 servers')]);
  });

  test('is a usage error if the configuration is missing or has an invalid address or port 0', async () => {
    const folder = temporaryFolder();
    const anyPort = writeConfiguration(folder, {});
    const bad = join(folder, 'bad.yaml');
    writeFileSync(bad, 'listen_addr: nowhere\n');
    for (const [file, words] of [
      [anyPort, 'has port 0'],
      [bad, 'bad.yaml:1:14: '],
      [join(folder, 'gone.yaml'), 'does not exist'],
    ] as const) {
      const { code, stderr } = await runMain(['servers', '--config', file], { env: bare });
      expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
      expect(stderr).toMatch(/^error: /);
    }
  });

  test.each([
    ['/mcp', ['servers']],
    ['/mcp/', ['stats', '--json']],
    ['/mcp/files/', ['top']],
    ['/mcp/files', ['servers', 'show', 'files']],
  ])(
    'that ends in the MCP path %s causes an error that names the base address: %j',
    async (path, command) => {
      const { code, stderr } = await runMain([...command, '--url', gateway.url + path], { env: bare });
      expect(code).toBe(1);
      expect(stderr).toContain(
        `; --url expects the gateway's base address; try ${gateway.url}, without /mcp\n`,
      );
    },
  );

  test('that ends in /mcp/prod because of a proxy rule reaches the gateway behind the proxy', async () => {
    const proxy = createServer(async ({ url = '' }, answer) => {
      const behind = await fetch(gateway.url + url.replace('/mcp/prod/', '/'));
      answer.writeHead(behind.status).end(await behind.text());
    });
    await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp/prod`;
    const good = await runMain(['servers', '--url', url], { env: bare });
    expect([good.code, good.stderr]).toEqual([0, '']);
    expect(good.stdout).toMatch(/^files /m);
    const slip = await runMain(['servers', 'show', 'file', '--url', url], { env: bare });
    expect(slip.stderr).toBe('there is no server "file"; did you mean files?\n');
    proxy.close();
  });

  test('at which nothing listens is reported with a remedy', async () => {
    const closed = createServer();
    await new Promise<void>((done) => closed.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(closed.address() as AddressInfo).port}`;
    await new Promise((done) => closed.close(done));
    for (const command of [['servers'], ['stats', '--json'], ['top']]) {
      const { code, stdout, stderr } = await runMain([...command, '--url', url], { env: bare });
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toBe(
        `no gateway listens at ${url}; start the gateway, or set its address with --url or --config\n`,
      );
    }
  });

  test('without a response times out after --timeout', async () => {
    const silent = createTcpServer();
    await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const startedAt = performance.now();
    const { code, stderr } = await runMain(['servers', '--url', url, '--timeout', '0.3'], { env: bare });
    expect(performance.now() - startedAt).toBeLessThan(9_000);
    expect([code, stderr]).toEqual([
      1,
      `${url} has not responded within 0.3 s; --timeout SECONDS waits longer\n`,
    ]);
    silent.close();
  });

  test('that belongs to another program is reported as not being a gateway', async () => {
    const page = createServer((_, answer) => answer.end('<html>It works!</html>'));
    await new Promise<void>((done) => page.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
    const { code, stderr } = await runMain(['servers', '--url', url], { env: bare });
    expect([code, stderr]).toEqual([
      1,
      `${url} returned status 200, but not like a gateway; check the address\n`,
    ]);
    const secure = url.replace('http', 'https');
    expect(await runMain(['servers', '--url', secure], { env: bare })).toMatchObject({
      code: 1,
      stderr: `${secure} does not use TLS; the gateway itself listens at http://\n`,
    });
    page.close();
  });
});

describe('the command `machines`', () => {
  test('prints the diagrams of all state machines or of the named one, the same each time', async () => {
    const all = await runMain(['machines']);
    expect([all.code, all.stderr]).toEqual([0, '']);
    expect(all.stdout.match(/^%% \w+$/gm)).toEqual([
      ...['%% gateway', '%% supervisor', '%% server', '%% trigger', '%% connection', '%% conversation'],
    ]);
    const server = await runMain(['machines', 'show', 'server']);
    expect(server.stdout).toMatch(/^stateDiagram-v2\n/);
    expect(all.stdout).toContain(server.stdout);
    expect(await runMain(['machines', 'show', 'server'])).toEqual(server);
  });
});

describe('the command `calls`', () => {
  test('lists recent calls with filters, and prints the API response with --json', async () => {
    for (const name of ['echo', 'reject', 'fail']) await rpc(gateway.url, 'files', call(name));
    await rpc(gateway.url, 'other', call('fail'));
    const all = await run(['calls', '--limit', '3'], { env: { TZ: 'Asia/Kolkata' } });
    expect([all.code, all.stderr]).toEqual([0, '']);
    const [title = '', ...rows] = all.stdout.trimEnd().split('\n');
    expect(title.split(/ {2,}/)).toEqual([
      ...['ENDED', 'SERVER', 'TOOL', 'RESULT', 'TOOK', 'BYTES', 'CLIENT', 'SESSION', 'CODE'],
    ]);
    expect(rows).toEqual([
      expect.stringMatching(/^\S+\+05:30 {2}other +fail +protocol +[\d.]+m?s +\d+ +- +- +-32099$/),
      expect.stringMatching(/files +fail +protocol /),
      expect.stringMatching(/files +reject +tool /),
      expect.stringMatching(/^more: --before \d+$/),
    ]);
    const failed = await run(['calls', '--failed', '--server', 'files', '--json']);
    const address = `${gateway.url}/history/calls?of=server:files&outcome=failed`;
    expect(JSON.parse(failed.stdout)).toEqual((await ask(address)).json);
    const tools = await run(['calls', '--tool', 'files/echo']);
    expect(tools.stdout.trimEnd().split('\n').length).toBe(2);
    expect((await run(['calls', '--server', 'nothing'])).stdout).toBe('no calls\n');
    for (const args of [
      ['--limit', 'x'],
      ['--server', 'files', '--tool', 'files/echo'],
    ])
      expect([args, (await run(['calls', ...args])).code]).toEqual([args, 2]);
  });
});
