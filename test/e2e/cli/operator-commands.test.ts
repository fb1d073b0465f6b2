// The commands of gateway-http for an operator without a browser, run against a gateway that runs.

import { chmodSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiServer, ask, eventually } from '../../fixtures/clients/api-client.ts';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
  writeConfiguration,
} from '../../fixtures/gateway/gateway-process.ts';
import { type RunOptions, runMain } from '../../fixtures/gateway/run-main.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const key = 'the-operators-key-4711';
/** Nothing of the environment of whoever runs the tests. */
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

/** A command for the gateway of this file. */
const run = (args: readonly string[], options: RunOptions = {}) =>
  runMain([...args, '--url', gateway.url], { ...options, env: { ...bare, ...options.env } });

const state = async (id: string): Promise<string> => (await ask(`${gateway.url}/servers/${id}`)).json.state;

describe('servers', () => {
  test('prints a table of all servers, in plain text where stdout is no terminal', async () => {
    const { code, stdout, stderr } = await run(['servers']);
    expect([code, stderr]).toEqual([0, '']);
    const [title = '', ...rows] = stdout.trimEnd().split('\n');
    // The last one only once a server has failed.
    expect(title.split(/ {2,}/).filter((word) => word !== 'REASON')).toEqual([
      'SERVER',
      'STATE',
      'RUNTIME',
      'IN FLIGHT',
      'WAITING',
      'REQUESTS',
      'FAILED',
      'RESTARTS',
      'UPTIME',
      'P50',
      'P95',
    ]);
    expect(rows.map((row) => row.split(/\s+/).slice(0, 3))).toEqual([
      ['files', 'stopped', 'stdio'],
      ['other', 'stopped', 'stdio'],
      ['off', 'off', 'stdio'],
      ['broken', expect.stringMatching(/stopped|failed/), 'stdio'],
    ]);
    expect(stdout).not.toContain('\u001b');
  });

  test('with --json prints exactly what the API answers', async () => {
    const { code, stdout } = await run(['servers', '--json']);
    const { json } = await ask(`${gateway.url}/servers`);
    expect([code, JSON.parse(stdout)]).toEqual([0, json]);
    expect(stdout.trimEnd()).not.toContain('\n');
  });

  test('with an id shows that server with its connections, tools and latencies', async () => {
    await run(['servers', 'start', 'other']);
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pid","arguments":{}}}';
    const headers = { 'content-type': 'application/json', 'x-mcp-server': 'other' };
    await ask(`${gateway.url}/rpc`, { method: 'POST', headers, body });
    const { json } = await ask(`${gateway.url}/servers/other`);
    const { code, stdout } = await run(['servers', 'show', 'other']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^state {2,}running$/m);
    expect(stdout).toMatch(/^requests {2,}1, 0 failed$/m);
    expect(stdout).toMatch(/^latency {2,}p50 [\d.]+ms, p95 [\d.]+ms/m);
    expect(stdout).toMatch(new RegExp(`^tools {2,}${json.tools.length}$`, 'm'));
    expect(stdout).toMatch(
      new RegExp(`^ *${json.pids[0]} +shared +yes +0 +${json.connections[0].protocol_version}$`, 'm'),
    );
    const one = await run(['servers', 'show', 'other', '--json']);
    expect(JSON.parse(one.stdout)).toMatchObject({ id: 'other', pids: json.pids, tools: json.tools });
  });

  test('with an id that is slightly wrong asks for the one that was meant', async () => {
    const { code, stdout, stderr } = await run(['servers', 'show', 'fles']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe('there is no server "fles"; did you mean files?\n');
  });

  test('with an id like no other names those that exist', async () => {
    for (const id of ['zzzzzz', '..', 'a/b', '%2e']) {
      const { code, stderr } = await run(['servers', 'show', id]);
      expect([code, stderr]).toEqual([
        1,
        `there is no server ${JSON.stringify(id)}; there are files, other, off, broken\n`,
      ]);
    }
  });
});

describe('start and stop', () => {
  test('start a server and stop it', async () => {
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

  test('with --json print the record', async () => {
    const { stdout } = await run(['servers', 'start', 'files', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ id: 'files', state: 'running' });
    const stopped = await run(['servers', 'stop', 'files', '--json']);
    expect(JSON.parse(stopped.stdout)).toMatchObject({ id: 'files', state: 'stopped', pids: [] });
  });

  test('of a server that cannot be started say why, with its last lines on stderr', async () => {
    const { code, stdout, stderr } = await run(['servers', 'start', 'broken']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^server broken could not be started: .*exited with code 4/);
    expect(stderr).toMatch(/^ {2}stderr: reading the settings$/m);
    expect(stderr).toMatch(/^ {2}stderr: the key \[redacted\] was refused by the far side$/m);
  });

  test('that fail print what the API answered too, with --json', async () => {
    const { code, stdout, stderr } = await run(['servers', 'start', 'broken', '--json']);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ error: 'Bad Gateway', stderr: expect.any(Array) });
    expect(stderr).toContain('could not be started');
  });

  test('of a server that is switched off say so', async () => {
    const { code, stderr } = await run(['servers', 'start', 'off']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('switched off')]);
  });
});

describe('stats', () => {
  test('shows the counters, what has failed first', async () => {
    await run(['servers', 'start', 'broken']);
    await eventually('the failure', async () => (await state('broken')) === 'failed');
    const { code, stdout } = await run(['stats']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^requests {2,}\d+, \d+ failed$/m);
    expect(stdout).toMatch(/^servers {2,}4 servers: 1 failed, /m);
    const json = JSON.parse((await run(['stats', '--json'])).stdout);
    expect(json).toMatchObject({ sessions: 0, servers: { broken: { state: 'failed' } } });
  });
});

describe('reload', () => {
  test('says what has changed, and what is wrong with a bad catalog', async () => {
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

describe('a gateway with a key', () => {
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

  test('is asked with the key from the environment, or from a file', async () => {
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

  test('without a key says where to put it', async () => {
    for (const command of [['servers'], ['servers', 'start', 'one'], ['top'], ['top', '--once']]) {
      const { code, stdout, stderr } = await at(command);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toBe(
        `${guarded.url} asks for a key; give it in GATEWAY_API_KEY, or by --api-key-file FILE\n`,
      );
    }
  });

  test('with a wrong key says where that came from, and does not repeat it', async () => {
    const { code, stderr } = await at(['servers'], { GATEWAY_API_KEY: 'not-the-right-one' });
    expect([code, stderr]).toEqual([1, `${guarded.url} refuses the key from GATEWAY_API_KEY\n`]);
  });

  test('a missing or wrong key is explained for an MCP address as well', async () => {
    const url = `${guarded.url}/mcp`;
    const none = await runMain(['servers', '--url', url], { env: bare });
    expect([none.code, none.stderr]).toEqual([
      1,
      `${url} asks for a key; give it in GATEWAY_API_KEY, or by --api-key-file FILE\n`,
    ]);
    const wrong = await runMain(['servers', '--url', url], {
      env: { ...bare, GATEWAY_API_KEY: 'wrong-key' },
    });
    expect([wrong.code, wrong.stderr]).toEqual([1, `${url} refuses the key from GATEWAY_API_KEY\n`]);
  });

  test('a file that has no key, or is not there, is wrong usage', async () => {
    const empty = join(guarded.folder, 'empty');
    writeFileSync(empty, '\n');
    for (const [file, reason] of [
      [empty, 'it has no key on its first line'],
      [join(guarded.folder, 'gone'), 'the file does not exist'],
      [guarded.folder, 'cannot be read (EISDIR)'],
    ] as const) {
      const { code, stderr } = await at(['servers', '--api-key-file', file]);
      expect([code, stderr]).toEqual([2, `error: --api-key-file ${file}: ${reason}\n`]);
    }
  });
});

describe('the address', () => {
  test('is taken from the configuration, whatever else of it cannot be read here', async () => {
    const folder = temporaryFolder();
    const settings = { listen_addr: `0.0.0.0:${gateway.port}`, api_key: `\${NO_SUCH_KEY}` };
    const config = writeConfiguration(folder, { settings, catalogText: `a: \${NO_SUCH_TOKEN}` });
    const { code, stdout } = await runMain(['stats', '--config', config], { env: bare });
    expect([code, stdout]).toEqual([0, expect.stringContaining('4 servers')]);
  });

  test('cannot be taken from a configuration without one, or one that takes any port', async () => {
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
  ])('with the %s of MCP clients behind it fails with a word on that: %j', async (path, command) => {
    const { code, stderr } = await runMain([...command, '--url', gateway.url + path], { env: bare });
    expect(code).toBe(1);
    expect(stderr).toContain(`; --url is the gateway's own address: is it ${gateway.url}, without /mcp?\n`);
  });

  test('that ends in /mcp/prod by a proxy’s rule leads to the gateway behind it', async () => {
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

  test('where nobody listens is told with what to do', async () => {
    const closed = createServer();
    await new Promise<void>((done) => closed.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(closed.address() as AddressInfo).port}`;
    await new Promise((done) => closed.close(done));
    for (const command of [['servers'], ['stats', '--json'], ['top']]) {
      const { code, stdout, stderr } = await runMain([...command, '--url', url], { env: bare });
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toBe(
        `nobody listens at ${url}; start the gateway, or say where it is with --url or --config\n`,
      );
    }
  });

  test('of somebody who never answers costs no more than --timeout', async () => {
    const silent = createTcpServer();
    await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const begun = performance.now();
    const { code, stderr } = await runMain(['servers', '--url', url, '--timeout', '0.3'], { env: bare });
    expect(performance.now() - begun).toBeLessThan(9_000);
    expect([code, stderr]).toEqual([
      1,
      `${url} has not answered within 0.3 s; --timeout SECONDS waits longer\n`,
    ]);
    silent.close();
  });

  test('of another program is told apart from a gateway', async () => {
    const page = createServer((_, answer) => answer.end('<html>It works!</html>'));
    await new Promise<void>((done) => page.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
    const { code, stderr } = await runMain(['servers', '--url', url], { env: bare });
    expect([code, stderr]).toEqual([
      1,
      `${url} answered 200, but not as a gateway does; is the address right?\n`,
    ]);
    const secure = url.replace('http', 'https');
    expect(await runMain(['servers', '--url', secure], { env: bare })).toMatchObject({
      code: 1,
      stderr: `${secure} speaks no TLS; the gateway itself listens at http://\n`,
    });
    page.close();
  });
});

describe('machines', () => {
  test('prints every machine, or the one that is named, the same each time', async () => {
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
