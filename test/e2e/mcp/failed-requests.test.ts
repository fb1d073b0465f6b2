// Failed requests at the MCP addresses, over raw HTTP in both eras, and by clients of all SDKs. An accepted
// request is answered with status 200 and a JSON-RPC error, and the session lives on. Only /rpc uses error
// statuses.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, ask, BOTH, initialize, message, post } from '../../fixtures/clients/api-client.ts';
import { errorOf } from '../../fixtures/clients/mcp-client.ts';
import { modern, toolCall } from '../../fixtures/clients/modern-client.ts';
import { callOnce, RawSession, startServer } from '../../fixtures/clients/raw-session.ts';
import { connectReal } from '../../fixtures/clients/real-clients.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { httpEnginesInTurn } from '../../fixtures/gateway/http-engines.ts';
import { answerJson, idOf, LocalServer, methodOf, result } from '../../fixtures/remote/local-server.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

/** Server, tool, arguments, and the reason of the error. */
const failures = [
  ['bad', 'crash', {}, 'ERR_CONNECTION_LOST'],
  ['impatient', 'hang', {}, 'ERR_DEADLINE'],
  ['bad', 'big', { bytes: 200_000 }, 'ERR_MESSAGE_TOO_LARGE'],
  ['remote', 'status', { status: 413 }, 'ERR_UPSTREAM_PROTOCOL'],
  ['remote', 'status', { status: 500 }, 'ERR_UPSTREAM_PROTOCOL'],
  ['remote', 'status', { status: 503 }, 'ERR_UPSTREAM_PROTOCOL'],
] as const;

const restart = { intensity: 1_000, min_backoff_ms: 10, max_backoff_seconds: 1 };
const neverStarts = { restart: { intensity: 0 } };
const addresses = ['/mcp/:id', '/mcp', '/mcp/@part'] as const;

/** Path for a server, and the tool name at that path. */
function at(address: string, server: string, tool: string): [path: string, name: string] {
  return address === '/mcp/:id' ? [`/mcp/${server}`, tool] : [address, `${server}__${tool}`];
}

function remoteServer(): Promise<LocalServer> {
  const introduction = {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'remote', version: '1' },
  };
  const tools = ['echo', 'status'].map((name) => ({ name, inputSchema: { type: 'object' } }));
  return LocalServer.start(({ req, res, body }) => {
    if (req.method !== 'POST') return void res.writeHead(405).end();
    if (idOf(body) === undefined) return void res.writeHead(202).end();
    if (methodOf(body) === 'initialize') return answerJson(res, result(body, introduction));
    if (methodOf(body) === 'tools/list') return answerJson(res, result(body, { tools }));
    if (methodOf(body) !== 'tools/call') return answerJson(res, result(body));
    const { status } = JSON.parse(body).params.arguments;
    if (status === undefined) answerJson(res, result(body, { content: [{ type: 'text', text: 'fine' }] }));
    else res.writeHead(status).end('refused');
  });
}

let remote: LocalServer;
beforeAll(async () => {
  remote = await remoteServer();
});
afterAll(() => remote.close());

describe.each(httpEnginesInTurn)('over %s', (http) => {
  let gateway: GatewayProcess;
  beforeAll(async () => {
    gateway = await startGateway({
      http,
      settings: {
        profiles: { part: { servers: ['good', 'bad', 'impatient', 'remote'] } },
        limits: { message_bytes: 100_000, body_bytes: 100_000 },
      },
      servers: {
        good: fault('echo'),
        bad: fault('echo', { restart }),
        impatient: fault('echo', { request_timeout_seconds: 1 }),
        remote: { url: remote.url().href, era: 'legacy', restart },
        dead: fault('exits-at-once', neverStarts),
        late: fault('hangs-at-initialize', { start_timeout_seconds: 1, ...neverStarts }),
        off: fault('echo', { enabled: false }),
      },
    });
    await startServer(gateway.url, 'impatient');
  });

  describe.each(addresses)('at %s', (address) => {
    test.each(failures)(
      'a session gets an error for the failed call %s__%s %j, and continues',
      async (server, tool, args, reason) => {
        const [path, name] = at(address, server, tool);
        const session = await RawSession.open(gateway.url, path);
        const failed = await session.call(name, args, { id: 'mine' });
        expect([failed.status, failed.reason, failed.messages[0]?.id]).toEqual([200, reason, 'mine']);
        expect(failed.headers['content-type']).toBe('application/json');
        const [, echo] = at(address, address === '/mcp/:id' ? server : 'good', 'echo');
        const next = await session.call(echo, {});
        expect([next.status, next.error]).toEqual([200, undefined]);
      },
    );

    test.each(failures)(
      'a stateless call of %s__%s %j fails with an error that contains the reason',
      async (server, tool, args, reason) => {
        const [path, name] = at(address, server, tool);
        const failed = await modern(gateway.url + path, toolCall(name, args, { id: '"mine"' }));
        expect([failed.status, failed.json.error.data.reason, failed.json.id]).toEqual([200, reason, 'mine']);
      },
    );
  });

  test.each([
    ['bad', 'crash', {}, 502],
    ['impatient', 'hang', {}, 504],
    ['bad', 'big', { bytes: 200_000 }, 502],
  ])('/rpc answers the failed call %s__%s %j with status %i', async (server, tool, args, status) => {
    expect((await callOnce(gateway.url, server, tool, args)).status).toBe(status);
  });

  test.each(['dead', 'late', 'off'])(
    'the first request to the server "%s", which cannot serve, is answered with the reason',
    async (id) => {
      const response = await post(`${gateway.url}/mcp/${id}`, message('initialize', introduction, 'i'));
      const discovery = await modern(`${gateway.url}/mcp/${id}`, { method: 'server/discover', id: '"i"' });
      for (const { status, headers, json } of [response, discovery]) {
        expect([status, json.id, json.error.code]).toEqual([200, 'i', -32000]);
        expect(json.error.message.length).toBeGreaterThan(20);
        expect(headers['mcp-session-id']).toBeUndefined();
      }
      // The server has failed: the answer contains the time of the next attempt.
      const refusal = await post(`${gateway.url}/mcp/${id}`, message('initialize', introduction, 'i'));
      expect([refusal.status, refusal.json.error.data.reason]).toEqual([200, 'ERR_UNAVAILABLE']);
      expect(Number(refusal.headers['retry-after'])).toBeGreaterThan(0);
    },
  );

  test.each(['v1', 'v2 legacy', 'v2 modern', 'v2 auto'] as const)(
    'a client of SDK %s receives the reason of a failed call, and continues',
    async (kind) => {
      const client = await connectReal(kind, { url: `${gateway.url}/mcp` });
      await client.listTools();
      for (const [name, code, why] of [
        ['bad__crash', -32000, /exited with code 3/],
        ['impatient__hang', -32001, /timed out after 1 s/],
      ] as const) {
        const error = await errorOf(client.call(name));
        expect(error.code).toBe(code);
        expect(error.message).toMatch(why);
      }
      expect((await client.call('good__echo', { n: 1 })).content).toEqual([
        { type: 'text', text: '{"n":1}' },
      ]);
      const rejection = await errorOf(connectReal(kind, { url: `${gateway.url}/mcp/off` }));
      // A client that accepts only the modern era reports any error of `server/discover` as an unsupported
      // version.
      expect(rejection.message).toMatch(kind === 'v2 modern' ? /did not offer/ : /off is disabled/);
    },
  );

  test('a refused request gets an error status, and a JSON-RPC error in the body', async () => {
    const mcp = `${gateway.url}/mcp`;
    const session = await initialize(mcp);
    const json = { 'content-type': 'application/json', accept: BOTH };
    const large = message('tools/list', { x: 'x'.repeat(100_000) });
    const refusals: [number, Promise<Answer>][] = [
      [400, post(mcp, '{"jsonrpc":', session)],
      [400, post(mcp, message('ping'))],
      [400, post(mcp, message('ping'), { ...session, 'mcp-protocol-version': '1.0' })],
      [400, post(mcp, message('ping'), { ...session, 'mcp-method': 'tools/list' })],
      [404, post(mcp, message('ping'), { 'mcp-session-id': 'unknown' })],
      [404, post(`${mcp}/unknown`, message('ping'), session)],
      [404, post(`${mcp}/@unknown`, message('ping'), session)],
      [405, ask(mcp, { method: 'PUT', headers: json })],
      [405, ask(`${mcp}/good`, { headers: { 'mcp-protocol-version': '2026-07-28' } })],
      [406, ask(mcp, { method: 'POST', headers: { ...json, accept: 'text/html' }, body: message('ping') })],
      [413, post(mcp, large, session)],
      [415, ask(mcp, { method: 'POST', headers: { ...session, accept: BOTH }, body: message('ping') })],
    ];
    for (const [status, asked] of refusals) {
      const answer = await asked;
      expect([answer.status, answer.headers['content-type']]).toEqual([status, 'application/json']);
      expect(answer.json).toMatchObject({
        jsonrpc: '2.0',
        error: { code: expect.any(Number), message: expect.any(String) },
      });
      expect(answer.json).toHaveProperty('id');
    }
    expect((await post(mcp, message('ping'), session)).json.result).toEqual({});
  });
});

const introduction = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'failed-requests', version: '1' },
};
