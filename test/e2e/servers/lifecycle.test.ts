// Exit and restart of the built program: graceful stop by signals, locks of the state folder and the port,
// restart after kill -9, and unusable state folders. For each HTTP engine.

import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import manifest from '../../../package.json' with { type: 'json' };
import {
  apiServer,
  ask,
  call,
  EventReader,
  eventually,
  initialize,
  introduction,
  latch,
  message,
  post,
  postStream,
  rpc,
} from '../../fixtures/clients/api-client.ts';
import { RawClient } from '../../fixtures/clients/raw-http.ts';
import { isAlive } from '../../fixtures/clients/raw-session.ts';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
  writeConfiguration,
} from '../../fixtures/gateway/gateway-process.ts';
import { httpEnginesInTurn } from '../../fixtures/gateway/http-engines.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';

const { version } = manifest;

const textOf = (answer: { json: { result: { content: { text: string }[] } } }) =>
  answer.json.result.content[0]?.text;
const inFlight = async ({ url }: GatewayProcess) => (await ask(`${url}/stats`)).json.requests.in_flight;

describe.each(httpEnginesInTurn)('the end of the gateway on %s', (http) => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    'by %s lets calls finish, rejects new calls, closes streams, and exits with 0',
    async (signal) => {
      const gateway = await startGateway({
        http,
        settings: { shutdown_seconds: 15 },
        servers: { api: apiServer() },
      });
      const { url } = gateway;
      const address = `${url}/mcp/api`;
      const session = await initialize(address);
      const pid = Number(textOf(await post(address, call('pid'), session)));
      const gate = latch();
      const listening = new EventReader(address, { headers: session });
      await listening.opened();
      const pending = post(address, call('hold', { until: gate.path }), session);
      const streamed = postStream(
        address,
        message('tools/call', {
          name: 'talk',
          arguments: { before: 1, until: gate.path, after: 3 },
          _meta: { progressToken: 1 },
        }),
        session,
      );
      await streamed.until('the first event', ({ messages }) => messages.length === 1);
      await eventually('the calls', async () => (await inFlight(gateway)) === 2);
      const keepAlive = await RawClient.connect(gateway.port);
      const exit = gateway.stop(signal);
      await listening.ended();

      const health = await ask(`${url}/health`);
      expect(health.status).toBe(503);
      expect(health.json).toEqual({
        status: 'draining',
        version,
        uptime_seconds: expect.any(Number),
        alarms: expect.any(Array),
      });
      // The response contains `Connection: close`, even if the client wants to keep the connection.
      const keep = { connection: 'keep-alive' };
      const refusals = [
        await post(address, call('echo'), { ...session, ...keep }),
        await post(`${url}/mcp`, message('initialize', introduction('2025-11-25')), keep),
        await rpc(url, 'api', call('echo'), keep),
        await ask(address, { headers: { ...session, ...keep, accept: 'text/event-stream' } }),
        await ask(`${url}/servers/api/start`, { method: 'POST', headers: keep }),
        await ask(`${url}/admin/reload`, { method: 'POST', headers: keep }),
      ];
      for (const answer of refusals) {
        expect([answer.status, answer.headers.connection]).toEqual([503, 'close']);
        expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
        expect(answer.text).toMatch(/stopping/);
      }
      expect(refusals.map(({ json }) => json.error.data?.reason)).toEqual([
        ...Array(4).fill('ERR_STOPPED'),
        undefined,
        undefined,
      ]);
      expect(refusals.slice(0, 4).map(({ json }) => json.id)).toEqual([1, 1, 1, null]);
      keepAlive.write(
        `POST /rpc HTTP/1.1\r\nHost: localhost\r\nX-MCP-Server: api\r\nContent-Type: application/json\r\nContent-Length: ${call('echo').length}\r\n\r\n${call('echo')}`,
      );
      expect((await keepAlive.answer()).status).toBe(503);
      await keepAlive.closed();
      expect((await ask(`${url}/servers`)).json.servers[0].in_flight).toBe(2);

      gate.open();
      expect(textOf(await pending)).toBe('held');
      await streamed.ended();
      expect(streamed.messages.at(-1)?.json.result.content[0].text).toBe('talked');
      expect(await exit).toBe(0);
      expect(isAlive(pid)).toBe(false);
      expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([]);
      await expect(ask(`${url}/health`)).rejects.toThrow(/ECONNREFUSED/);
    },
  );

  test('an idle gateway stops immediately', async () => {
    const gateway = await startGateway({
      http,
      settings: { shutdown_seconds: 15 },
      servers: { api: apiServer() },
    });
    await rpc(gateway.url, 'api', call('echo'));
    const since = Date.now();
    expect(await gateway.stop()).toBe(0);
    // Any wait would last shutdown_seconds.
    expect(Date.now() - since).toBeLessThan(12_000);
  });

  test('a call that does not finish in time fails before the shutdown deadline', async () => {
    const gateway = await startGateway({
      http,
      settings: { shutdown_seconds: 3 },
      servers: { api: apiServer() },
    });
    const { path } = latch();
    const address = `${gateway.url}/mcp/api`;
    const session = await initialize(address);
    const pending = [
      post(address, call('hold', { until: path }, 'late'), session),
      rpc(gateway.url, 'api', call('hold', { until: path }, 'late')),
    ] as const;
    await eventually('the calls', async () => (await inFlight(gateway)) === 2);
    const pid = (await ask(`${gateway.url}/servers/api`)).json.pids[0];
    const since = Date.now();
    const exit = gateway.stop();
    const answers = await Promise.all(pending);
    expect(answers.map(({ status }) => status)).toEqual([200, 503]);
    for (const answer of answers) {
      expect(answer.json).toMatchObject({ id: 'late', error: { message: expect.stringMatching(/stopped/) } });
    }
    expect(await exit).toBe(0);
    // The calls may take a minute.
    expect(Date.now() - since).toBeLessThan(15_000);
    expect(isAlive(pid)).toBe(false);
  });

  test('a second signal stops the gateway immediately, and leaves no process', async () => {
    const gateway = await startGateway({
      http,
      settings: { shutdown_seconds: 60 },
      servers: { api: apiServer() },
    });
    const { path } = latch();
    const interrupted = rpc(gateway.url, 'api', call('hold', { until: path })).catch((error: Error) => error);
    await eventually('the call', async () => (await inFlight(gateway)) === 1);
    const pid = (await ask(`${gateway.url}/servers/api`)).json.pids[0];
    void gateway.stop('SIGTERM');
    await eventually('the drain', async () => (await ask(`${gateway.url}/health`)).status === 503);
    // The same signal from a terminal and a wrapper counts once. A person is slower.
    await new Promise((wake) => setTimeout(wake, 500));
    const since = Date.now();
    expect(await gateway.stop('SIGTERM')).toBe(1);
    expect(Date.now() - since).toBeLessThan(20_000);
    await interrupted;
    await eventually('the end of the child', () => !isAlive(pid));
  });

  test('a second gateway on the same port exits with 1 and names the address and the process that uses it', async () => {
    const first = await startGateway({ http, servers: {} });
    const folder = temporaryFolder();
    const listen_addr = `127.0.0.1:${first.port}`;
    const config = writeConfiguration(folder, { settings: { listen_addr } });
    const run = await runMain(['--config', config], { env: { GATEWAY_HTTP: http } });
    expect(run.code).toBe(1);
    expect(run.stdout).toContain(listen_addr);
    // The holder is unknown if there is no /proc.
    const holder = existsSync('/proc/net/tcp') ? `process ${first.pid}` : 'another process';
    expect(run.stdout).toContain(`in use by ${holder};`);
    expect((await ask(`${first.url}/health`)).status).toBe(200);
    expect(await first.stop()).toBe(0);
  });
});

describe('the state folder', () => {
  test('belongs to one gateway: a second start exits with 1 and names the holder and the folder', async () => {
    const first = await startGateway({ servers: { api: apiServer() } });
    const run = await runMain(['--config', join(first.folder, 'gateway.yaml')]);
    expect(run.code).toBe(1);
    expect(run.stdout).toContain(`process ${first.pid}`);
    expect(run.stdout).toContain(join(first.folder, '.gateway'));
    expect(run.stdout).not.toContain('gateway is ready');
    expect((await rpc(first.url, 'api', call('echo'))).status).toBe(200);
    expect(await first.stop()).toBe(0);
    const next = await startGateway({ folder: first.folder, servers: { api: apiServer() } });
    expect(await next.stop()).toBe(0);
  });

  test('is used after kill -9 by the next gateway, which kills remaining processes and lists tools from the cache', async () => {
    const servers = { api: apiServer(), other: apiServer({ env: { NAME: 'other' } }) };
    const first = await startGateway({ servers });
    const session = await initialize(`${first.url}/mcp`);
    const { tools } = (await post(`${first.url}/mcp`, message('tools/list'), session)).json.result;
    expect(tools).toHaveLength(16);
    const { path } = latch();
    void rpc(first.url, 'api', call('hold', { until: path })).catch(() => {});
    await eventually('the call', async () => (await inFlight(first)) === 1);
    const pids = (await ask(`${first.url}/servers`)).json.servers.flatMap(
      (each: { pids: number[] }) => each.pids,
    );
    expect(pids).toHaveLength(2);
    await first.stop('SIGKILL');

    const second = await startGateway({ folder: first.folder, servers });
    await eventually('the end of the old children', () => pids.every((pid: number) => !isAlive(pid)));
    expect((await post(`${second.url}/mcp`, message('ping'), session)).status).toBe(200);
    const fresh = await initialize(`${second.url}/mcp`);
    const secondResponse = (await post(`${second.url}/mcp`, message('tools/list'), fresh)).json.result;
    expect(secondResponse.tools).toEqual(tools);
    const sessionHeader = await initialize(`${second.url}/mcp/api`);
    expect(
      (await post(`${second.url}/mcp/api`, message('tools/list'), sessionHeader)).json.result.tools,
    ).toHaveLength(8);
    const records = (await ask(`${second.url}/servers`)).json.servers;
    expect(records.map(({ state, pids }: { state: string; pids: number[] }) => [state, pids])).toEqual([
      ['stopped', []],
      ['stopped', []],
    ]);
    expect(textOf(await rpc(second.url, 'other', call('name')))).toBe('other');
    expect(await second.stop()).toBe(0);
  });

  test('with damaged tool lists is usable: the lists are fetched from the servers again', async () => {
    const servers = { api: apiServer() };
    const first = await startGateway({ servers });
    await rpc(first.url, 'api', call('echo'));
    const lists = join(first.folder, '.gateway', 'lists');
    await eventually('the list', () => existsSync(lists) && readdirSync(lists).length === 1);
    await first.stop();
    for (const name of readdirSync(lists)) writeFileSync(join(lists, name), '{"half":');
    const second = await startGateway({ folder: first.folder, servers });
    const session = await initialize(`${second.url}/mcp`);
    expect((await post(`${second.url}/mcp`, message('tools/list'), session)).json.result.tools).toHaveLength(
      8,
    );
    await second.stop();
  });

  test('without space for cached tool lists causes only a warning', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, '.gateway'));
    writeFileSync(join(folder, '.gateway', 'lists'), 'a file where a folder should be');
    const gateway = await startGateway({ folder, servers: { api: apiServer() } });
    expect((await rpc(gateway.url, 'api', call('echo'))).status).toBe(200);
    await eventually('the warning', () =>
      gateway.logs().some(({ level, server }) => level === 'warn' && server === 'api'),
    );
    expect((await rpc(gateway.url, 'api', call('echo'))).status).toBe(200);
    expect(await gateway.stop()).toBe(0);
  });

  test('that is a file causes exit code 1 with an explanation', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'state'), '');
    const config = writeConfiguration(folder, { settings: { state_dir: './state' } });
    const { code, stdout, stderr } = await runMain(['--config', config]);
    expect([code, stderr]).toEqual([1, '']);
    expect(stdout).toContain(`cannot use the state folder ${join(folder, 'state')}`);
    expect(stdout).toMatch(/contains a file/);
  });

  test('that is not writable causes exit code 1 with an explanation', async () => {
    const folder = temporaryFolder();
    const config = writeConfiguration(folder, { settings: { state_dir: './locked/state' } });
    mkdirSync(join(folder, 'locked'));
    chmodSync(join(folder, 'locked'), 0o555);
    const { code, stdout } = await runMain(['--config', config], { cwd: folder, isPowerless: true });
    chmodSync(join(folder, 'locked'), 0o755);
    expect(code).toBe(1);
    expect(stdout).toMatch(/cannot use the state folder .*locked\/state: this user has no write permission/);
  });

  test('that is deleted during operation does not stop the gateway', async () => {
    const gateway = await startGateway({ servers: { api: apiServer() } });
    rmSync(join(gateway.folder, '.gateway'), { recursive: true });
    expect((await rpc(gateway.url, 'api', call('echo'))).status).toBe(200);
    expect(await gateway.stop()).toBe(0);
  });
});
