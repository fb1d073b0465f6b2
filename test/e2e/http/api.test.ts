// JSON endpoints of the built program: payloads, states, errors, request ids, traces and CORS.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import manifest from '../../../package.json' with { type: 'json' };
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
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { httpEnginesInTurn } from '../../fixtures/gateway/http-engines.ts';
import { answerJson, LocalServer, result } from '../../fixtures/remote/local-server.ts';

const { version } = manifest;

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const recordKeys = [
  'id',
  'runtime',
  'state',
  'isolation',
  'enabled',
  'installing',
  'requests',
  'failed',
  'tool_errors',
  'in_flight',
  'waiting',
  'restarts',
  'uptime_seconds',
  'started_at',
  'last_used_at',
  'last_error',
  'next_retry_at',
  'is_parked',
  'pids',
];
const results: Record<string, unknown> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'far', version: '1' },
  },
  'tools/list': { tools: [{ name: 'see', inputSchema: { type: 'object' } }] },
};
const stoppedServer = {
  runtime: 'stdio',
  state: 'stopped',
  isolation: 'shared',
  enabled: true,
  installing: null,
  requests: 0,
  failed: 0,
  tool_errors: 0,
  in_flight: 0,
  waiting: 0,
  restarts: 0,
  uptime_seconds: 0,
  started_at: null,
  last_used_at: null,
  last_error: null,
  next_retry_at: null,
  is_parked: false,
  pids: [],
};

describe.each(httpEnginesInTurn)('the endpoints on %s', (http) => {
  let gateway: GatewayProcess;
  let url: string;

  beforeAll(async () => {
    gateway = await startGateway({
      http,
      servers: {
        one: apiServer(),
        two: apiServer({ isolation: 'session' }),
        idler: apiServer({ idle_timeout_seconds: 2 }),
        off: apiServer({ enabled: false }),
        broken: apiServer({
          env: { EXIT: '3', TOKEN: 's3cret-token-1' },
          restart: { min_backoff_ms: 60_000, max_backoff_seconds: 60 },
        }),
        hung: apiServer({ env: { HANG: '1' }, start_timeout_seconds: 0.3 }),
        far: { url: 'http://127.0.0.1:9/mcp' },
      },
    });
    url = gateway.url;
  });

  test('are served by the HTTP engine that the log names at startup', () => {
    const ready = gateway.logs().find(({ msg }) => msg === 'gateway is ready');
    expect(ready?.http).toBe(http === 'uws' ? 'uWebSockets.js' : 'node:http');
  });

  test('return version and uptime for GET /health', async () => {
    const { status, json, headers } = await ask(`${url}/health`);
    expect(status).toBe(200);
    expect(json).toEqual({
      status: 'ok',
      version,
      uptime_seconds: expect.any(Number),
      alarms: expect.any(Array),
    });
    expect(headers['content-type']).toBe('application/json');
  });

  test('list all servers in catalog order for GET /servers, with state stopped until their first use', async () => {
    const fresh = await startGateway({
      http,
      servers: { b: apiServer(), a: apiServer({ isolation: 'session' }) },
    });
    const { status, json } = await ask(`${fresh.url}/servers`);
    expect(status).toBe(200);
    expect(json).toEqual({
      servers: [
        { id: 'b', ...stoppedServer },
        { id: 'a', ...stoppedServer, isolation: 'session' },
      ],
    });
    expect(Object.keys(json.servers[0])).toEqual(recordKeys);
    await fresh.stop();
  });

  test('return record, tools, errors, next start, connections and stderr for GET /servers/:id', async () => {
    await ask(`${url}/servers/one/start`, { method: 'POST' });
    const { status, json } = await ask(`${url}/servers/one`);
    expect(status).toBe(200);
    expect(Object.keys(json)).toEqual([...recordKeys, 'eras', 'tools', 'lists', 'connections', 'stderr']);
    expect(json).toMatchObject({
      id: 'one',
      state: 'running',
      tools: ['echo', 'pid', 'name', 'hold', 'talk', 'log', 'change', 'fail'],
      lists: { tools: { count: 8, cut: null } },
      last_error: null,
      next_retry_at: null,
    });
    expect(json.connections).toEqual([
      { session: null, pid: json.pids[0], is_open: true, in_flight: 0, protocol_version: '2025-06-18' },
    ]);
  });

  test('start a server idempotently by POST start, and stop it by POST stop; a request starts it again', async () => {
    const first = await ask(`${url}/servers/one/start`, { method: 'POST' });
    expect(first.status).toBe(200);
    expect(Object.keys(first.json)).toEqual(recordKeys);
    expect(first.json.state).toBe('running');
    expect(first.json.started_at).toMatch(isoTime);
    const [pid] = first.json.pids;
    expect(() => process.kill(pid, 0)).not.toThrow();
    const second = await ask(`${url}/servers/one/start`, { method: 'POST', body: 'this is ignored' });
    expect(second.json.pids).toEqual([pid]);
    const stopped = await ask(`${url}/servers/one/stop`, { method: 'POST', body: '{' });
    expect(stopped.status).toBe(200);
    expect(stopped.json).toMatchObject({ state: 'stopped', pids: [], started_at: null, uptime_seconds: 0 });
    expect(() => process.kill(pid, 0)).toThrow();
    expect((await ask(`${url}/servers/one/stop`, { method: 'POST' })).status).toBe(200);
    const answer = await rpc(url, 'one', call('pid'));
    expect(answer.json.result.content[0].text).not.toBe(String(pid));
    const record = (await ask(`${url}/servers/one`)).json;
    expect(record.last_used_at).toMatch(isoTime);
    expect(record.state).toBe('running');
  });

  test('answer POST stop of a starting server with 200, and the pending POST start with 503', async () => {
    const slow = await startGateway({ http, servers: { slow: apiServer({ env: { HANG: '1' } }) } });
    const started = ask(`${slow.url}/servers/slow/start`, { method: 'POST' });
    await eventually(
      'the start',
      async () => (await ask(`${slow.url}/servers/slow`)).json.state === 'starting',
    );
    expect((await ask(`${slow.url}/servers/slow/stop`, { method: 'POST' })).status).toBe(200);
    const answer = await started;
    expect(answer.status).toBe(503);
    expect(answer.json.message).toMatch(/slow was stopped/);
    await slow.stop();
  });

  test('stop a server by POST stop only after its current call has finished', async () => {
    const gate = latch();
    const answer = rpc(url, 'one', call('hold', { until: gate.path }));
    await eventually('the call', async () => (await ask(`${url}/servers/one`)).json.in_flight === 1);
    const stopped = ask(`${url}/servers/one/stop`, { method: 'POST' });
    await eventually('stopping', async () => (await ask(`${url}/servers/one`)).json.state === 'stopping');
    gate.open();
    expect((await answer).json.result.content[0].text).toBe('held');
    expect((await stopped).json.state).toBe('stopped');
  });

  test('show a server without calls as running, idle and then stopped', async () => {
    await rpc(url, 'idler', call('echo'));
    const states: string[] = [];
    await eventually('the stop', async () => {
      const { state } = (await ask(`${url}/servers/idler`)).json;
      if (states.at(-1) !== state) states.push(state);
      return state === 'stopped';
    });
    expect(states.filter((state) => state !== 'stopping')).toEqual(['running', 'idle', 'stopped']);
  });

  test('return 502 for a failed start, with the reason and the last stderr lines but without secrets', async () => {
    const { status, json } = await ask(`${url}/servers/broken/start`, { method: 'POST' });
    expect(status).toBe(502);
    expect(Object.keys(json).sort()).toEqual(['error', 'message', 'request_id', 'stderr']);
    expect(json.error).toBe('Bad Gateway');
    expect(json.message).toMatch(/server broken could not be started: .*3/);
    expect(json.stderr.join('\n')).toBe('my token is [redacted]');
    const details = (await ask(`${url}/servers/broken`)).json;
    expect(details.state).toBe('failed');
    expect(details.last_error).toEqual({
      code: 'ERR_START_FAILED',
      message: expect.stringMatching(/broken/),
    });
    expect(details.next_retry_at).toMatch(isoTime);
    expect(JSON.stringify([json, details]) + gateway.text()).not.toContain('s3cret-token-1');
  });

  test('return 504 for a slow start', async () => {
    const { status, json } = await ask(`${url}/servers/hung/start`, { method: 'POST' });
    expect(status).toBe(504);
    expect(json).toEqual({
      error: 'Gateway Timeout',
      message: expect.stringMatching(/hung.*0\.3 s/),
      request_id: expect.any(String),
    });
  });

  test('return 503 for a start of a disabled server and for calls to it', async () => {
    const { status, headers, json } = await ask(`${url}/servers/off/start`, { method: 'POST' });
    expect(status).toBe(503);
    expect(json).toMatchObject({
      error: 'Service Unavailable',
      message: expect.stringMatching(/is disabled/),
    });
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    const answer = await rpc(url, 'off', call('echo'));
    expect(answer.status).toBe(503);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(answer.json).toMatchObject({ id: 1, error: { code: -32000, data: { server: 'off' } } });
  });

  test('report the numbers of requests, failures and requests in flight at GET /stats, in total and per server', async () => {
    const fresh = await startGateway({
      http,
      servers: { api: apiServer(), off: apiServer({ enabled: false }) },
    });
    const none = (await ask(`${fresh.url}/stats`)).json;
    const unused = { used: 0, max: expect.any(Number), holders: [] };
    expect(none).toEqual({
      uptime_seconds: expect.any(Number),
      alarms: expect.any(Array),
      requests: { total: 0, failed: 0, tool_errors: 0, in_flight: 0 },
      sessions: 0,
      listens: 0,
      servers: { api: statsOf('stopped'), off: statsOf('stopped') },
      limits: { 'limits.in_flight': unused, 'limits.sessions': unused },
    });
    await initialize(`${fresh.url}/mcp`);
    await rpc(fresh.url, 'api', call('echo'));
    await rpc(fresh.url, 'api', call('fail'));
    await rpc(fresh.url, 'api', call('reject'));
    const gate = latch();
    const waiting = rpc(fresh.url, 'api', call('hold', { until: gate.path }));
    const busy = await eventually('the call in flight', async () => {
      const { json } = await ask(`${fresh.url}/stats`);
      return json.requests.in_flight === 1 && json.servers.api.in_flight === 1 && json;
    });
    expect(busy.requests).toEqual({ total: 5, failed: 1, tool_errors: 1, in_flight: 1 });
    expect(busy.sessions).toBe(1);
    gate.open();
    await waiting;
    const { api } = (await ask(`${fresh.url}/stats`)).json.servers;
    expect(api).toEqual({
      ...statsOf('running'),
      requests: 4,
      failed: 1,
      tool_errors: 1,
      latency_ms: expect.anything(),
    });
    const { p50, p95, p99 } = api.latency_ms;
    expect(p50).toBeGreaterThan(0);
    expect(p95).toBeGreaterThanOrEqual(p50);
    expect(p99).toBeGreaterThanOrEqual(p95);
    await fresh.stop();

    function statsOf(state: string) {
      return {
        state,
        installing: null,
        requests: 0,
        failed: 0,
        tool_errors: 0,
        in_flight: 0,
        waiting: 0,
        restarts: 0,
        uptime_seconds: expect.any(Number),
        latency_ms: expect.objectContaining({}),
      };
    }
  });

  test('answer HEAD like GET without a body, and open no stream', async () => {
    for (const path of ['/health', '/servers', '/servers/one', '/stats']) {
      const answer = await ask(url + path, { method: 'HEAD' });
      expect([path, answer.status, answer.text]).toEqual([path, 200, '']);
      expect(answer.headers['content-type']).toBe('application/json');
    }
    const session = await initialize(`${url}/mcp`);
    const answer = await ask(`${url}/mcp`, { method: 'HEAD', headers: { ...session, accept: '*/*' } });
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe('POST, GET, DELETE');
  });

  test.each([
    '/',
    '/nothing',
    '/servers/',
    '//servers',
    '/servers/none',
    '/servers/one/',
    '/servers/one/dance',
    '/servers/one/start/now',
    '/mcp/one/two',
    '/health/',
    '/Health',
    '/servers/__proto__',
  ])('return 404 for %s', async (path) => {
    const answer = await ask(url + path);
    expect(answer.status).toBe(404);
    expect(answer.json).toEqual({
      error: 'Not Found',
      message: expect.not.stringContaining('/triggers'),
      request_id: answer.headers['x-request-id'],
    });
  });

  test.each(['/mcp/none', '/mcp/constructor', '/mcp/__proto__'])(
    'return a JSON-RPC error with 404 for %s',
    async (path) => {
      const answer = await ask(url + path);
      expect([answer.status, answer.json.error?.data]).toEqual([404, { reason: 'ERR_UNKNOWN_SERVER' }]);
    },
  );

  test.each([
    ['POST', '/health', 'GET, HEAD'],
    ['DELETE', '/servers', 'GET, HEAD'],
    ['PUT', '/servers/one', 'GET, HEAD'],
    ['GET', '/servers/one/start', 'POST'],
    ['HEAD', '/servers/one/stop', 'POST'],
    ['POST', '/stats', 'GET, HEAD'],
    ['GET', '/admin/reload', 'POST'],
    ['GET', '/rpc', 'POST'],
    ['PATCH', '/mcp', 'POST, GET, DELETE'],
    ['PUT', '/mcp/one', 'POST, GET, DELETE'],
    ['OPTIONS', '/servers', 'GET, HEAD'],
  ])('return 405 with the allowed methods for %s %s', async (method, path, allow) => {
    const answer = await ask(url + path, { method });
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe(allow);
    const message = expect.stringContaining(allow);
    if (path.startsWith('/mcp'))
      expect(answer.json).toEqual({ jsonrpc: '2.0', id: null, error: { code: -32600, message } });
    else if (method !== 'HEAD')
      expect(answer.json).toEqual({
        error: 'Method Not Allowed',
        message,
        request_id: answer.headers['x-request-id'],
      });
  });
});

describe.each(httpEnginesInTurn)('request ids, traces and logs on %s', (http) => {
  let gateway: GatewayProcess;
  let remote: LocalServer;
  const upstream: (string | undefined)[] = [];

  beforeAll(async () => {
    remote = await LocalServer.start(({ req, res, body }) => {
      if (req.method !== 'POST') {
        res.writeHead(405).end();
        return;
      }
      const { id, method } = JSON.parse(body);
      if (method === 'tools/call') upstream.push(req.headers.traceparent as string | undefined);
      if (id === undefined) res.writeHead(202).end();
      else answerJson(res, result(body, results[method] ?? { content: [] }));
    });
    gateway = await startGateway({
      http,
      env: { SEARCH_TOKEN: 'tok-3n-abcdef', GATEWAY_KEY: 'gateway-key-0815' },
      settings: { log_level: 'debug', api_key: `\${GATEWAY_KEY}` },
      servers: {
        api: apiServer({ env: { TOKEN: `\${SEARCH_TOKEN}` } }),
        far: {
          url: `${remote.url()}?secret=in-the-query`,
          headers: { Authorization: `Bearer \${SEARCH_TOKEN}` },
        },
        dead: { url: 'http://127.0.0.1:9/mcp?secret=in-the-query', restart: { intensity: 0 } },
      },
    });
  });

  afterAll(() => remote.close());

  const key = { 'x-api-key': 'gateway-key-0815' };
  const waitForCallLine = (requestId: string) =>
    eventually('the call line', () =>
      gateway.logs().find((line) => line.msg === 'call' && line.request_id === requestId),
    );

  test('a valid X-Request-Id is used in the response, the error body and the log', async () => {
    const answer = await rpc(gateway.url, 'api', call('echo'), { ...key, 'x-request-id': 'mine:1.2_3-4' });
    expect(answer.headers['x-request-id']).toBe('mine:1.2_3-4');
    expect(await waitForCallLine('mine:1.2_3-4')).toMatchObject({
      level: 'debug',
      server: 'api',
      method: 'tools/call',
      tool: 'echo',
      outcome: 'answered',
      duration_ms: expect.any(Number),
      traceparent: expect.stringMatching(/^00-/),
    });
    const missing = await ask(`${gateway.url}/nothing`, { headers: { ...key, 'x-request-id': 'mine-2' } });
    expect(missing.json.request_id).toBe('mine-2');
  });

  test.each([['two words'], ['x'.repeat(129)], ['"quoted"'], ['a,b'], ['é']])(
    'the invalid X-Request-Id %j is replaced',
    async (id) => {
      const answer = await ask(`${gateway.url}/health`, {
        headers: { 'x-request-id': Buffer.from(id, 'utf8').toString('latin1') },
      });
      expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f]{32}$/);
    },
  );

  test('the trace of a traceparent continues with a new span id, upstream and in the log', async () => {
    const trace = '0af7651916cd43dd8448eb211c80319c';
    const traceparent = `00-${trace}-b7ad6b7169203331-01`;
    const headers = { ...key, traceparent, 'x-request-id': 'traced' };
    expect((await rpc(gateway.url, 'far', call('see'), headers)).status).toBe(200);
    const upstreamTrace = upstream.at(-1) ?? '';
    expect(upstreamTrace).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`));
    expect(upstreamTrace).not.toBe(traceparent);
    expect(await waitForCallLine('traced')).toMatchObject({ traceparent: upstreamTrace });
  });

  test.each([
    [undefined],
    ['nonsense'],
    ['00-00000000000000000000000000000000-b7ad6b7169203331-01'],
    ['00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01'],
    ['ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
  ])('a request with a missing or invalid traceparent (%s) starts a new trace', async (traceparent) => {
    const headers: Record<string, string> = traceparent === undefined ? {} : { traceparent };
    expect((await rpc(gateway.url, 'far', call('see'), { ...key, ...headers })).status).toBe(200);
    expect(upstream.at(-1)).toMatch(/^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-00$/);
    expect(upstream.at(-1)).not.toContain('0af7651916cd43dd8448eb211c80319c');
  });

  test('a call that is forwarded to a stdio server contains no trace context', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const answer = await rpc(gateway.url, 'api', call('echo', { a: 1 }), { ...key, traceparent });
    expect(answer.json.result.content[0].text).toBe('{"a":1}');
  });

  test('a failed call is logged at level info with the reason, and its URL is logged without the query', async () => {
    const headers = { ...key, 'x-request-id': 'to-the-dead' };
    const answer = await rpc(gateway.url, 'dead', call('see'), headers);
    expect(answer.status).toBe(503);
    expect(await waitForCallLine('to-the-dead')).toMatchObject({
      level: 'info',
      outcome: 'failed',
      server: 'dead',
      code: 'ERR_UNAVAILABLE',
      reason: expect.stringContaining('127.0.0.1:9/mcp'),
    });
    expect(gateway.text() + answer.text).not.toContain('in-the-query');
  });

  test('the log line of a call is limited in size, even if the tool or method name is very long', async () => {
    const headers = { ...key, 'x-request-id': 'long-name' };
    await rpc(gateway.url, 'api', call('n'.repeat(100_000)), headers);
    expect(JSON.stringify(await waitForCallLine('long-name')).length).toBeLessThan(2_000);
    await rpc(gateway.url, 'api', message('m'.repeat(100_000)), { ...key, 'x-request-id': 'long-method' });
    expect(JSON.stringify(await waitForCallLine('long-method')).length).toBeLessThan(2_000);
  });

  test('keys and tokens are not logged', async () => {
    await ask(`${gateway.url}/servers?api_key=gateway-key-0815&token=tok-3n-abcdef`, { headers: key });
    await eventually('stderr of the server', () => gateway.text().includes('my token is'));
    const all = [gateway.text()];
    for (const path of ['/servers', '/servers/api', '/servers/far', '/servers/dead', '/stats']) {
      all.push((await ask(gateway.url + path, { headers: key })).text);
    }
    expect(all.join('\n')).not.toMatch(/gateway-key-0815|tok-3n-abcdef/);
  });

  test('the log line of a call contains only the first characters of the session id', async () => {
    const session = await initialize(`${gateway.url}/mcp/api`, '2025-11-25', key);
    await post(`${gateway.url}/mcp/api`, call('echo'), { ...key, ...session, 'x-request-id': 'in-session' });
    const id = session['mcp-session-id'] ?? '';
    expect(await waitForCallLine('in-session')).toMatchObject({ session: id.slice(0, 8) });
    expect(gateway.text()).not.toContain(id);
  });
});
