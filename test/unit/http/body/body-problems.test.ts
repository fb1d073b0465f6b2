// What a client is told whose body did not come as a whole. Over real sockets the slow one takes half a minute, so here
// the endpoints are asked directly; that the seam reports it is shown in test/e2e/http/http-seam.test.ts.

import { describe, expect, test } from 'vitest';

import type { BodyProblem, HttpReply } from '../../../../src/http/listener/seam.ts';
import { ExchangeContext } from '../../../../src/http/mcp/exchange-context.ts';
import { post } from '../../../../src/http/mcp/mcp-endpoint.ts';
import { rpc } from '../../../../src/http/mcp/rpc-endpoint.ts';
import type { RouteContext } from '../../../../src/http/route-context.ts';

const routes = { config: { limits: { body_bytes: 1024 } } } as unknown as RouteContext;
const endpoints = {
  '/mcp': (context: ExchangeContext, body: BodyProblem) => post(routes, context, {}, body),
  '/rpc': (context: ExchangeContext, body: BodyProblem) => rpc(routes, context, body),
};

describe.each(Object.entries(endpoints))('%s', (path, handle) => {
  test.each([
    ['too_slow', 408],
    ['too_large', 413],
    ['no_room', 503],
  ] as const)('answers a body that is %s with %d, in the words of JSON-RPC', (problem, expected) => {
    const sent: [number, string][] = [];
    const reply: HttpReply = {
      isDone: false,
      limitBody: () => {},
      send: (status, _, body) => sent.push([status, String(body)]),
      stream: () => {
        throw new Error('no stream was asked for');
      },
      onAbort: () => {},
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
    expect(sent).toHaveLength(1);
    const [[status, body] = [0, '']] = sent;
    expect(status).toBe(expected);
    expect(JSON.parse(body)).toMatchObject({
      jsonrpc: '2.0',
      id: null,
      error: { code: problem === 'no_room' ? -32000 : -32600 },
    });
  });
});
