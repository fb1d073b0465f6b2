// GET /history/calls: each request of a client is recorded once with its result, on every path and for every
// kind of failure, and never with arguments or results.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CallRecord } from '../../../src/http/api/call-shapes.ts';
import {
  apiServer,
  ask,
  call,
  eventually,
  initialize,
  latch,
  message,
  post,
  rpc,
} from '../../fixtures/clients/api-client.ts';
import { modern, toolCall } from '../../fixtures/clients/modern-client.ts';
import { stats } from '../../fixtures/clients/raw-session.ts';
import { allCallsOf, callsOf } from '../../fixtures/clients/recorded-calls.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { runs } from '../../fixtures/property-runs.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const SECRET = 'sk-a-token-that-must-not-be-seen';
const ARGUMENT = 'an-argument-that-must-not-be-recorded';

const restart = { intensity: 1, period_seconds: 60, min_backoff_ms: 50, park_seconds: 600 };

const servers = {
  api: apiServer({ env: { TOKEN: SECRET } }),
  echo: fault('echo'),
  slow: fault('echo', { request_timeout_seconds: 1 }),
  tight: apiServer({ pool: { max: 1, in_flight: 1, waiting: 1 } }),
  broken: fault('exits-at-once', { restart }),
  off: { ...apiServer(), enabled: false },
};

const start = () => startGateway({ servers, settings: { profiles: { work: { servers: ['api'] } } } });

/** Returns the newest call, when there are `count` more than before `act`. */
async function recorded(
  { url }: GatewayProcess,
  act: () => Promise<unknown>,
  count = 1,
): Promise<CallRecord> {
  const before = (await callsOf(url, '?limit=1')).calls[0]?.n ?? 0;
  await act();
  return eventually('the call', async () => {
    const [newest] = (await callsOf(url, '?limit=1')).calls;
    return newest !== undefined && newest.n === before + count ? newest : undefined;
  });
}

describe('a call is recorded once with server, tool, result and client', () => {
  test('at each address, for legacy and modern clients', async () => {
    const gateway = await start();
    const { url } = gateway;
    const ways: readonly (readonly [path: string, tool: string])[] = [
      ['/mcp', 'api__echo'],
      ['/mcp/api', 'echo'],
      ['/mcp/@work', 'api__echo'],
    ];
    const expected = { server: 'api', tool: 'echo', method: 'tools/call', outcome: 'ok', code: null };
    for (const [path, tool] of ways) {
      const session = await initialize(url + path);
      const label = session['mcp-session-id'].slice(0, 8);
      expect(
        await recorded(gateway, () => post(url + path, call(tool, { a: ARGUMENT }), session)),
      ).toMatchObject({
        ...expected,
        client: 'api-test',
        session: label,
      });
      expect(await recorded(gateway, () => modern(url + path, toolCall(tool)))).toMatchObject({
        ...expected,
        client: 'raw',
        session: null,
      });
    }
    const viaRpc = await recorded(gateway, () => rpc(url, 'api', call('echo')));
    expect(viaRpc).toMatchObject({ ...expected, client: null, session: null, request_id: null, trace: null });
    expect(Date.now() - Date.parse(viaRpc.at)).toBeLessThan(30_000);
    expect(viaRpc.ms).toBeGreaterThan(0);
    expect(viaRpc.bytes).toBeGreaterThan(40);
    expect(await recorded(gateway, () => rpc(url, 'api', message('tools/list')))).toMatchObject({
      ...expected,
      tool: null,
      method: 'tools/list',
    });
    expect(await recorded(gateway, () => modern(`${url}/mcp`, { method: 'tools/list' }))).toMatchObject({
      server: null,
      tool: null,
      outcome: 'ok',
    });
    const text = JSON.stringify(await allCallsOf(url));
    expect(text).not.toContain(ARGUMENT);
    await gateway.stop();
  });

  test('with the kind of its failure', async () => {
    const gateway = await start();
    const { url } = gateway;
    const result = async (act: () => Promise<unknown>, count = 1) => {
      const { server, tool, outcome, code } = await recorded(gateway, act, count);
      return [server, tool, outcome, code];
    };
    const byRpc = (server: string, name: string, args = {}) => rpc(url, server, call(name, args));
    expect(await result(() => byRpc('api', 'reject'))).toEqual(['api', 'reject', 'tool', null]);
    expect(await result(() => byRpc('api', 'fail'))).toEqual(['api', 'fail', 'protocol', '-32099']);
    expect(await result(() => byRpc('slow', 'hang'))).toEqual(['slow', 'hang', 'timeout', 'ERR_DEADLINE']);
    expect(await result(() => byRpc('echo', 'crash'))).toEqual([
      'echo',
      'crash',
      'lost',
      'ERR_CONNECTION_LOST',
    ]);
    expect(await result(() => byRpc('off', 'echo'))).toEqual([
      'off',
      'echo',
      'unavailable',
      'ERR_UNAVAILABLE',
    ]);
    expect(await result(() => byRpc('broken', 'echo'))).toEqual([
      ...['broken', 'echo', 'start', 'ERR_UNAVAILABLE'],
    ]);
    const session = await initialize(`${url}/mcp`);
    const merged = (name: string) => post(`${url}/mcp`, call(name), session);
    expect(await result(() => merged('nothing'))).toEqual([null, 'nothing', 'refused', '-32602']);
    expect(await result(() => post(`${url}/mcp`, message('no/such'), session))).toEqual([
      ...[null, null, 'refused', '-32601'],
    ]);

    const gate = latch();
    const held = [1, 2].map(() => byRpc('tight', 'hold', { until: gate.path }));
    await eventually('the queue', async () => (await stats(url)).servers.tight?.waiting === 1);
    expect(await result(() => byRpc('tight', 'echo'))).toEqual([
      'tight',
      'echo',
      'overload',
      'ERR_OVERLOADED',
    ]);
    gate.open();
    await Promise.all(held);

    const abort = new AbortController();
    const gone = modern(`${url}/mcp/api`, toolCall('hold', { until: '/nowhere' }), { signal: abort.signal });
    gone.catch(() => {});
    await eventually('the call', async () => (await stats(url)).servers.api?.in_flight === 1);
    expect(await result(async () => abort.abort())).toEqual(['api', 'hold', 'cancelled', null]);
    await gateway.stop();
  });
});

describe('the list of recent calls', () => {
  test('is filtered by server, tool and result, and has pages', async () => {
    const gateway = await start();
    const { url } = gateway;
    for (const name of ['echo', 'reject', 'echo', 'fail', 'pid']) await rpc(url, 'api', call(name));
    await rpc(url, 'echo', call('pid'));
    const tools = async (query: string) =>
      (await callsOf(url, query)).calls.map(({ server, tool }) => `${server}/${tool}`);
    expect(await tools('?of=server:echo')).toEqual(['echo/pid']);
    expect(await tools('?of=tool:api/echo')).toEqual(['api/echo', 'api/echo']);
    expect(await tools('?outcome=failed')).toEqual(['api/fail', 'api/reject']);
    expect(await tools('?outcome=tool,protocol')).toEqual(['api/fail', 'api/reject']);
    expect(await tools('?outcome=ok&of=server:api')).toEqual(['api/pid', 'api/echo', 'api/echo']);
    expect(await tools('?outcome=slow')).toEqual([]);
    const first = await callsOf(url, '?limit=4');
    expect(first.calls.map(({ n }) => n)).toEqual([6, 5, 4, 3]);
    expect(first.next_before).toBe(3);
    const second = await callsOf(url, '?limit=4&before=3');
    expect([second.calls.map(({ n }) => n), second.next_before]).toEqual([[2, 1], null]);
    expect((await callsOf(url, '?limit=6')).next_before).toBeNull();
    const [failed] = (await callsOf(url, '?outcome=failed')).calls;
    expect(failed?.request_id).toMatch(/^[\w-]{16,}$/);
    expect(failed?.trace).toMatch(/^[0-9a-f]{32}$/);
    for (const query of [
      '?of=api',
      '?of=server:',
      '?outcome=bad',
      '?limit=0',
      '?limit=1001',
      '?before=x',
      '?x=1',
    ])
      expect([query, (await ask(`${url}/history/calls${query}`)).status]).toEqual([query, 400]);
    await gateway.stop();
  });

  test('requires the key, works below /inspector, and shows no credentials', async () => {
    const gateway = await startGateway({
      servers,
      settings: { api_key: 'key-of-the-operator', inspector: { enabled: true } },
    });
    const { url } = gateway;
    const key = { 'x-api-key': 'key-of-the-operator' };
    expect((await ask(`${url}/history/calls`)).status).toBe(401);
    expect((await ask(`${url}/inspector/api/history/calls`)).status).toBe(401);
    await rpc(url, 'api', call(SECRET), key);
    for (const path of ['/history/calls', '/inspector/api/history/calls']) {
      const { status, text } = await ask(url + path, { headers: key });
      expect([status, text]).toEqual([200, expect.stringContaining('"tool":"[redacted]"')]);
      expect(text).not.toContain(SECRET);
    }
    await gateway.stop();
  });

  test('is not served with history.enabled: false', async () => {
    const gateway = await startGateway({ servers, settings: { history: { enabled: false } } });
    await rpc(gateway.url, 'api', call('echo'));
    const { status, json } = await ask(`${gateway.url}/history/calls`);
    expect([status, json.message]).toEqual([404, expect.stringContaining('history.enabled: true')]);
    await gateway.stop();
  });
});

type Operation = readonly [name: string, repeat: number];
const operations = ['ok', 'tool', 'protocol', 'timeout', 'lost', 'start', 'overload', 'refused', 'cancelled'];

test('the number of recorded calls equals the request count for any mix of results', async () => {
  const gateway = await start();
  const { url } = gateway;
  const session = await initialize(`${url}/mcp/api`);
  const perform: Readonly<Record<string, () => Promise<unknown>>> = {
    ok: () => rpc(url, 'api', call('echo')),
    tool: () => post(`${url}/mcp/api`, call('reject'), session),
    protocol: () => rpc(url, 'api', call('fail')),
    timeout: () => rpc(url, 'slow', call('hang')),
    lost: () => rpc(url, 'echo', call('crash')),
    start: () => rpc(url, 'broken', call('echo')),
    overload: () => Promise.all([1, 2, 3, 4].map(() => rpc(url, 'tight', call('echo')))),
    refused: () => modern(`${url}/mcp`, toolCall('nothing')),
    cancelled: async () => {
      const abort = new AbortController();
      const aborted = modern(`${url}/mcp/api`, toolCall('hold', { until: '/nowhere' }), {
        signal: abort.signal,
      });
      setTimeout(() => abort.abort(), 20);
      await aborted.catch(() => {});
    },
  };
  const operation: fc.Arbitrary<Operation> = fc.tuple(
    fc.constantFrom(...operations),
    fc.integer({ min: 1, max: 3 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 12 }), async (chosen) => {
      const acts = chosen.flatMap(([name, repeat]) =>
        Array.from({ length: repeat }, () => perform[name]?.()),
      );
      await Promise.all(acts);
      const { total } = await eventually('the end of all requests', async () => {
        const { requests } = await stats(url);
        return requests.in_flight === 0 ? requests : undefined;
      });
      const calls = await allCallsOf(url, 50);
      expect(calls.map(({ n }) => n)).toEqual(Array.from({ length: total }, (_, index) => total - index));
    }),
    { numRuns: runs(12) },
  );
  await gateway.stop();
}, 120_000);
