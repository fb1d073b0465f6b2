// Responses to incomplete bodies. The endpoints are called directly, because a slow body over sockets takes
// half a minute. test/e2e/http/http-seam.test.ts tests that the HTTP layer reports incomplete bodies.

import { describe, expect, test } from 'vitest';

import type { BodyProblem, HttpReply } from '../../../../src/http/listener/seam.ts';
import { ExchangeContext } from '../../../../src/http/mcp/exchange-context.ts';
import { postMessage } from '../../../../src/http/mcp/mcp-endpoint.ts';
import { rpc } from '../../../../src/http/mcp/rpc-endpoint.ts';
import type { RouteContext } from '../../../../src/http/route-context.ts';

const routes = { config: { limits: { body_bytes: 1024 } } } as unknown as RouteContext;
const endpoints = {
  '/mcp': (context: ExchangeContext, body: BodyProblem) => postMessage(routes, context, {}, body),
  '/rpc': (context: ExchangeContext, body: BodyProblem) => rpc(routes, context, body),
};

describe.each(Object.entries(endpoints))('the endpoint %s', (path, handle) => {
  test.each([
    ['too_slow', 408],
    ['too_large', 413],
    ['over_budget', 503],
  ] as const)('responds to a body that is %s with %d and a JSON-RPC error', (problem, expected) => {
    const responses: [number, string][] = [];
    const reply: HttpReply = {
      isDone: false,
      limitBody: () => {},
      send: (status, _, body) => responses.push([status, String(body)]),
      stream: () => {
        throw new Error('unexpected stream');
      },
      endStream: () => {},
      onAbort: () => {},
      onAnswered: () => {},
      guard: (code) => code(),
    };
    const request = {
      method: 'POST',
      path,
      query: '',
      headers: {},
      remoteAddress: '',
      localPort: 0,
      isBodyExact: true,
    };
    handle(new ExchangeContext(request, reply), problem);
    expect(responses).toHaveLength(1);
    const [[status, body] = [0, '']] = responses;
    expect(status).toBe(expected);
    expect(JSON.parse(body)).toMatchObject({
      jsonrpc: '2.0',
      id: null,
      error: { code: problem === 'over_budget' ? -32000 : -32600 },
    });
  });
});
