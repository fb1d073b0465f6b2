// A remote server that reports its lost session in the ways of different SDKs: the gateway opens a new
// session and repeats the call once.

import { afterEach, expect, test } from 'vitest';
import { callOnce } from '../../fixtures/clients/raw-session.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { endServers, serve } from '../../fixtures/remote/bad-servers.ts';
import {
  answerJson,
  beginStream,
  type Exchange,
  idOf,
  methodOf,
  result,
} from '../../fixtures/remote/local-server.ts';

const introduction = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'far', version: '1' },
};

afterEach(endServers);

/** A server whose sessions are lost on request: a call in a lost session is refused by `refuse`. */
async function losingServer(refuse: (exchange: Exchange) => void) {
  let sessions = 0;
  const remote = await serve((exchange) => {
    const { req, res, body } = exchange;
    if (req.method === 'DELETE') return void res.writeHead(200).end();
    if (req.method !== 'POST') return void res.writeHead(405).end();
    if (methodOf(body) === 'initialize') {
      sessions += 1;
      res.setHeader('mcp-session-id', `s${sessions}`);
      return answerJson(res, result(body, introduction));
    }
    if (req.headers['mcp-session-id'] !== `s${sessions}`) return refuse(exchange);
    if (idOf(body) === undefined) return void res.writeHead(202).end();
    return answerJson(res, result(body, { content: [], tools: [] }));
  });
  const gateway = await startGateway({
    servers: { far: { url: remote.url().href, era: 'legacy', restart: { min_backoff_ms: 10 } } },
  });
  return {
    call: () => callOnce(gateway.url, 'far', 'x'),
    lose: () => {
      sessions += 1;
    },
    calls: () => remote.requests.filter(({ body }) => body !== '' && methodOf(body) === 'tools/call').length,
    stop: () => gateway.stop(),
  };
}

const error = (body: string, code: number, message: string) =>
  JSON.stringify({ jsonrpc: '2.0', id: idOf(body) ?? null, error: { code, message } });

test.each([
  [404, 'text', 'Not Found'],
  [400, 'text', 'Invalid or missing session ID'],
  [400, 'JSON-RPC', 'Bad Request: Server not initialized'],
  [401, 'JSON-RPC', 'Unauthorized: Session not found'],
  [410, 'text', 'Session has been terminated'],
  [422, 'text', 'Unexpected message, expect initialize request'],
  [200, 'JSON-RPC', 'Session expired'],
  [400, 'JSON-RPC', 'Bad Request: No valid session ID or not an initialize request'],
  [400, 'JSON-RPC', 'Bad Request: Unknown Mcp-Session-Id header'],
  [401, 'text', 'Invalid or expired session ID'],
  [200, 'event', 'Received request before initialization was complete'],
])(
  'a refusal with status %s and the %s "%s" counts as a lost session, and the call is repeated in a new session',
  async (status, form, message) => {
    const server = await losingServer(({ res, body }) => {
      if (form === 'event') {
        beginStream(res);
        res.write(`data: ${error(body, -32_602, message)}\n\n`);
      } else if (form === 'text') res.writeHead(status, { 'content-type': 'text/plain' }).end(message);
      else res.writeHead(status, { 'content-type': 'application/json' }).end(error(body, -32_000, message));
    });
    expect((await server.call()).status).toBe(200);
    for (let lost = 1; lost <= 2; lost += 1) {
      server.lose();
      const { status: answered, error: reason } = await server.call();
      expect([answered, reason]).toEqual([200, undefined]);
      // The first call, then a refused and a repeated call per lost session.
      expect(server.calls()).toBe(1 + 2 * lost);
    }
    await server.stop();
  },
);

test('an error about the session that also occurs in a new session reaches the client', async () => {
  const remote = await serve(({ req, res, body }) => {
    if (req.method !== 'POST') return void res.writeHead(405).end();
    res.setHeader('mcp-session-id', 's1');
    if (methodOf(body) === 'initialize') return answerJson(res, result(body, introduction));
    if (idOf(body) === undefined) return void res.writeHead(202).end();
    if (methodOf(body) !== 'tools/call' || body.includes('"fine"'))
      return answerJson(res, result(body, { content: [], tools: [] }));
    return void res
      .writeHead(200, { 'content-type': 'application/json' })
      .end(error(body, -32_000, 'Session expired'));
  });
  const { url } = await startGateway({ servers: { far: { url: remote.url().href, era: 'legacy' } } });
  expect((await callOnce(url, 'far', 'fine')).status).toBe(200);
  const { error: reason } = await callOnce(url, 'far', 'x');
  expect(reason?.message).toMatch(/has lost the session \(it responded 200: .*Session expired/);
  const calls = remote.requests.filter(({ body }) => body !== '' && methodOf(body) === 'tools/call');
  expect(calls).toHaveLength(3);
});
