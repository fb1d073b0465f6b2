// The Accept header at /mcp, without sockets; test/e2e/http/bad-input.test.ts tests refusals over sockets.

import { expect, test } from 'vitest';

import type { HttpReply } from '../../../src/http/listener/seam.ts';
import { ExchangeContext } from '../../../src/http/mcp/exchange-context.ts';
import { openStream } from '../../../src/http/mcp/mcp-endpoint.ts';
import type { RouteContext } from '../../../src/http/route-context.ts';

/** Returns the status of a GET without a session: 400 if the header is accepted. */
function statusOf(accept: string): number | undefined {
  let sentStatus: number | undefined;
  const reply: HttpReply = {
    isDone: false,
    limitBody: () => {},
    send: (status) => {
      sentStatus = status;
    },
    stream: () => {
      throw new Error('unexpected stream');
    },
    endStream: () => {},
    onAbort: () => {},
    onAnswered: () => {},
    guard: (code) => code(),
  };
  const request = {
    method: 'GET',
    path: '/mcp',
    query: '',
    headers: { accept },
    remoteAddress: '',
    localPort: 0,
    isBodyExact: true,
  };
  openStream({} as RouteContext, new ExchangeContext(request, reply), {});
  return sentStatus;
}

test.each([
  ['text/event-stream', 400],
  ['text/event-stream ;\t q=0.5 ; x', 400],
  ['text/html , \tText/* ;q=1', 400],
  ['*/*', 400],
  ['', 406],
  [';', 406],
  ['text/event-streams', 406],
  ['text/ event-stream', 406],
  ['text/event-stream ; q=0', 406],
  ['text/event-stream;x ;\tQ=0.000 ', 406],
])('a request with the Accept header %j gets status %d', (accept, status) => {
  expect(statusOf(accept)).toBe(status);
});

test('a long run of spaces in Accept is parsed in linear time', () => {
  const startedAt = performance.now();
  expect(statusOf(`x${' '.repeat(100_000)}y`)).toBe(406);
  // Takes milliseconds; a quadratic algorithm exceeds ten seconds.
  expect(performance.now() - startedAt).toBeLessThan(2_000);
});
