// Sessions over raw HTTP at /mcp and /mcp/:id: start, ownership and deletion. For each HTTP engine, with the
// built program, a raw server and the public everything server.

import { resolve } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import manifest from '../../../package.json' with { type: 'json' };
import {
  apiServer,
  ask,
  BOTH,
  call,
  EventReader,
  eventually,
  initialize,
  introduction,
  latch,
  message,
  post,
} from '../../fixtures/clients/api-client.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { httpEnginesInTurn } from '../../fixtures/gateway/http-engines.ts';

const { version } = manifest;

const everything = {
  command: process.execPath,
  args: [
    resolve(
      import.meta.dirname,
      '../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
    ),
  ],
};
const versions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'];

describe.each(httpEnginesInTurn)('sessions on %s', (http) => {
  let gateway: GatewayProcess;
  let url: string;

  beforeAll(async () => {
    gateway = await startGateway({
      http,
      servers: {
        everything,
        api: apiServer(),
        own: apiServer({ isolation: 'session' }),
        off: apiServer({ enabled: false }),
        broken: apiServer({ env: { EXIT: '3' }, restart: { intensity: 0 } }),
      },
    });
    url = gateway.url;
  });

  describe.each(['/mcp', '/mcp/api', '/mcp/everything'])('at %s', (path) => {
    test.each(versions)('version %s is supported', async (version) => {
      const answer = await post(url + path, message('initialize', introduction(version), 'init-1'));
      expect(answer.status).toBe(200);
      expect(answer.json).toMatchObject({
        jsonrpc: '2.0',
        id: 'init-1',
        result: { protocolVersion: version },
      });
      expect(answer.headers['mcp-session-id']).toMatch(/^[!-~]{20,}$/);
      const session = { 'mcp-session-id': String(answer.headers['mcp-session-id']) };
      const ready = await post(url + path, '{"jsonrpc":"2.0","method":"notifications/initialized"}', session);
      expect([ready.status, ready.text]).toEqual([202, '']);
      const headers = { ...session, 'mcp-protocol-version': version };
      const listed = await post(url + path, message('tools/list'), headers);
      expect(listed.json.result.tools.length).toBeGreaterThan(3);
    });

    test.each(['1999-01-01', '2026-07-28', 'latest', ''])(
      'version %j is answered with the latest version',
      async (version) => {
        const answer = await post(url + path, message('initialize', introduction(version)));
        expect(answer.json.result.protocolVersion).toBe('2025-11-25');
      },
    );

    test('a request without a session returns 400 and names the missing header', async () => {
      const answer = await post(url + path, message('tools/list', {}, 3));
      expect([answer.status, answer.json.id]).toEqual([400, 3]);
      expect(answer.json.error.message).toMatch(/Mcp-Session-Id/);
      expect((await ask(url + path, { headers: { accept: BOTH } })).status).toBe(400);
      expect((await ask(url + path, { method: 'DELETE' })).status).toBe(400);
    });

    test('an unknown session returns 404, for all methods', async () => {
      const headers = { 'mcp-session-id': '0b0e1d4e-0000-4000-8000-000000000000', accept: BOTH };
      const answer = await post(url + path, message('tools/list', {}, 4), headers);
      expect(answer.status).toBe(404);
      expect(answer.json).toEqual({
        jsonrpc: '2.0',
        id: 4,
        error: { code: -32001, message: 'Session not found' },
      });
      expect((await ask(url + path, { headers })).status).toBe(404);
      expect((await ask(url + path, { method: 'DELETE', headers })).status).toBe(404);
    });

    test('DELETE ends the session: the response is 204, and later requests get 404', async () => {
      const session = await initialize(url + path);
      const stream = new EventReader(url + path, { headers: session });
      await stream.opened();
      const before = (await ask(`${url}/stats`)).json.sessions;
      const deleted = await ask(url + path, { method: 'DELETE', headers: session });
      expect([deleted.status, deleted.text]).toEqual([204, '']);
      await stream.ended();
      expect((await ask(`${url}/stats`)).json.sessions).toBe(before - 1);
      expect((await post(url + path, message('ping'), session)).status).toBe(404);
      expect((await ask(url + path, { headers: { ...session, accept: BOTH } })).status).toBe(404);
      expect((await ask(url + path, { method: 'DELETE', headers: session })).status).toBe(404);
      expect(
        (await post(url + path, '{"jsonrpc":"2.0","method":"notifications/initialized"}', session)).status,
      ).toBe(404);
    });

    test('a second initialize on a session starts another session and does not change the first', async () => {
      const first = await initialize(url + path);
      const second = await initialize(url + path, '2025-06-18', first);
      expect(second['mcp-session-id']).not.toBe(first['mcp-session-id']);
      expect((await post(url + path, message('ping'), first)).json.error).toBeUndefined();
      expect((await post(url + path, message('ping'), second)).json.error).toBeUndefined();
    });
  });

  test('the gateway introduces itself at /mcp, the server itself at /mcp/:id', async () => {
    const all = (await post(`${url}/mcp`, message('initialize', introduction('2025-11-25')))).json.result;
    expect(all.serverInfo).toEqual({ name: 'actor-gateway', title: 'actor-gateway', version });
    expect(all.capabilities).toMatchObject({
      tools: { listChanged: true },
      resources: { listChanged: true },
      prompts: { listChanged: true },
    });
    const sessionId = (await post(`${url}/mcp/everything`, message('initialize', introduction('2025-11-25'))))
      .json.result;
    expect(sessionId.serverInfo.name).toMatch(/everything/);
    expect(sessionId.instructions).toEqual(expect.any(String));
  });

  test('names are prefixed at /mcp and unchanged at /mcp/:id, and can be called as listed', async () => {
    const at = async (path: string) => {
      const session = await initialize(url + path);
      const { tools } = (await post(url + path, message('tools/list'), session)).json.result;
      return { session, names: tools.map(({ name }: { name: string }) => name) };
    };
    const all = await at('/mcp');
    const sessionId = await at('/mcp/everything');
    expect(sessionId.names).toContain('echo');
    expect(all.names).toEqual(expect.arrayContaining(['everything__echo', 'api__echo', 'own__echo']));
    expect(all.names.filter((name: string) => name.startsWith('off__'))).toEqual([]);
    const prefixed = await post(`${url}/mcp`, call('everything__echo', { message: 'hi' }), all.session);
    const plain = await post(`${url}/mcp/everything`, call('echo', { message: 'hi' }), sessionId.session);
    expect(prefixed.json.result).toEqual(plain.json.result);
    expect(plain.json.result.content[0].text).toBe('Echo: hi');
  });

  test('a session of one address is unknown at all other addresses', async () => {
    const paths = ['/mcp', '/mcp/api', '/mcp/own'];
    for (const path of paths) {
      const session = await initialize(url + path);
      for (const other of paths) {
        const { status } = await post(url + other, message('ping'), session);
        expect([path, other, status]).toEqual([path, other, path === other ? 200 : 404]);
        if (path === other) continue;
        expect((await ask(url + other, { method: 'DELETE', headers: session })).status).toBe(404);
      }
      expect((await post(url + path, message('ping'), session)).json.error).toBeUndefined();
    }
  });

  test('session ids are unique and cannot be derived from other ids', async () => {
    const ids = await Promise.all(Array.from({ length: 50 }, () => initialize(`${url}/mcp`)));
    const texts = ids.map((each) => each['mcp-session-id']);
    expect(new Set(texts).size).toBe(50);
    expect(new Set(texts.map((id) => id.slice(0, 8))).size).toBe(50);
  });

  test('an initialize at a server that cannot start is rejected and leaves no session', async () => {
    const before = (await ask(`${url}/stats`)).json.sessions;
    for (const id of ['off', 'broken']) {
      const answer = await post(`${url}/mcp/${id}`, message('initialize', introduction('2025-11-25'), 'i'));
      expect([id, answer.status, answer.json.id]).toEqual([id, 200, 'i']);
      expect(answer.json.error).toMatchObject({
        code: -32000,
        data: { reason: 'ERR_UNAVAILABLE', server: id },
      });
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      expect(answer.headers['mcp-session-id']).toBeUndefined();
    }
    expect((await ask(`${url}/stats`)).json.sessions).toBe(before);
  });

  test('the end of a session fails the current call and stops the process of the session; the next call returns 404', async () => {
    const session = await initialize(`${url}/mcp/own`);
    const pid = (await post(`${url}/mcp/own`, call('pid'), session)).json.result.content[0].text;
    const gate = latch();
    const pending = post(`${url}/mcp/own`, call('hold', { until: gate.path }, 'h'), session);
    await eventually('the call', async () => (await ask(`${url}/servers/own`)).json.in_flight === 1);
    await ask(`${url}/mcp/own`, { method: 'DELETE', headers: session });
    const answer = await pending;
    expect([answer.status, answer.json.id, answer.json.error.code]).toEqual([200, 'h', -32001]);
    expect((await post(`${url}/mcp/own`, call('pid'), session)).status).toBe(404);
    await eventually('the end of the process', () => {
      try {
        process.kill(Number(pid), 0);
        return false;
      } catch {
        return true;
      }
    });
    gate.open();
  });

  test('a cancelled call is answered with 202 and no body, and the ids 1 and "1" are different calls', async () => {
    const session = await initialize(`${url}/mcp/api`);
    const gate = latch();
    const text = post(`${url}/mcp/api`, call('hold', { until: gate.path }, '1'), session);
    const number = post(`${url}/mcp/api`, call('hold', { until: gate.path }, 1), session);
    await eventually('both calls', async () => (await ask(`${url}/servers/api`)).json.in_flight === 2);
    const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}';
    expect((await post(`${url}/mcp/api`, cancel, session)).status).toBe(202);
    const dropped = await number;
    expect([dropped.status, dropped.text]).toEqual([202, '']);
    gate.open();
    expect((await text).json).toMatchObject({ id: '1', result: { content: [{ text: 'held' }] } });
  });
});

describe.each(httpEnginesInTurn)('idle and many sessions on %s', (http) => {
  test('a session leaves the memory after session_idle_seconds, but not while it has an open stream or a running call', async () => {
    const gateway = await startGateway({
      http,
      settings: { limits: { session_idle_seconds: 1 } },
      servers: { api: apiServer() },
    });
    const address = `${gateway.url}/mcp/api`;
    const gate = latch();
    const idle = await initialize(address);
    const listening = await initialize(address);
    const calling = await initialize(address);
    const stream = new EventReader(address, { headers: listening });
    await stream.opened();
    const pending = post(address, call('hold', { until: gate.path }), calling);
    const waitForCount = (label: string, count: number) =>
      eventually(label, async () => (await ask(`${gateway.url}/stats`)).json.sessions === count);
    await waitForCount('the end of the idle one', 2);
    // Three times the idle time in total.
    await new Promise((wake) => setTimeout(wake, 2000));
    expect((await ask(`${gateway.url}/stats`)).json.sessions).toBe(2);
    expect((await post(address, message('ping'), idle)).json.result).toEqual({});
    gate.open();
    expect((await pending).json.error).toBeUndefined();
    await waitForCount('the end of the caller', 1);
    expect(stream.isOver).toBe(false);
    stream.drop();
    await waitForCount('the end of the listener', 0);
    for (const session of [idle, listening, calling])
      expect((await post(address, message('ping'), session)).json.result).toEqual({});
    await gateway.stop();
  });

  test('above limits.sessions a new session fails with Retry-After, and the others continue', async () => {
    const gateway = await startGateway({ http, settings: { limits: { sessions: 2 } }, servers: {} });
    const first = await initialize(`${gateway.url}/mcp`);
    const stream = new EventReader(`${gateway.url}/mcp`, { headers: first });
    await stream.opened();
    const answer = await post(`${gateway.url}/mcp`, message('initialize', introduction('2025-11-25')));
    expect([answer.status, answer.json.error.data.reason]).toEqual([200, 'ERR_OVERLOADED']);
    expect(answer.json.error.message).toContain('limits.sessions');
    expect(answer.headers['mcp-session-id']).toBeUndefined();
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect((await post(`${gateway.url}/mcp`, message('ping'), first)).json.result).toEqual({});
    await ask(`${gateway.url}/mcp`, { method: 'DELETE', headers: first });
    await initialize(`${gateway.url}/mcp`);
    await gateway.stop();
  });

  test('above limits.in_flight a request fails immediately with Retry-After', async () => {
    const gateway = await startGateway({
      http,
      settings: { limits: { in_flight: 1 } },
      servers: { api: apiServer() },
    });
    const address = `${gateway.url}/mcp/api`;
    const session = await initialize(address);
    const gate = latch();
    const pending = post(address, call('hold', { until: gate.path }), session);
    await eventually('the call', async () => (await ask(`${gateway.url}/servers/api`)).json.in_flight === 1);
    const answer = await post(address, call('echo'), session);
    expect([answer.status, answer.headers['retry-after']]).toEqual([200, '1']);
    expect(answer.json.error.data.reason).toBe('ERR_OVERLOADED');
    gate.open();
    expect((await pending).json.error).toBeUndefined();
    expect((await post(address, call('echo'), session)).json.error).toBeUndefined();
    await gateway.stop();
  });

  test('with an empty catalog all lists are empty', async () => {
    const gateway = await startGateway({ http, servers: {} });
    const session = await initialize(`${gateway.url}/mcp`);
    for (const [method, member] of [
      ['tools/list', 'tools'],
      ['resources/list', 'resources'],
      ['resources/templates/list', 'resourceTemplates'],
      ['prompts/list', 'prompts'],
    ] as const) {
      expect((await post(`${gateway.url}/mcp`, message(method), session)).json.result).toEqual({
        [member]: [],
      });
    }
    await gateway.stop();
  });
});
