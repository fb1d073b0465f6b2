// The Accept header of /mcp, asked of its endpoint directly; test/e2e/http/bad-input.test.ts shows over sockets what is refused.

import { expect, test } from 'vitest';

import type { HttpReply } from '../../../src/http/listener/seam.ts';
import { ExchangeContext } from '../../../src/http/mcp/exchange-context.ts';
import { get } from '../../../src/http/mcp/mcp-endpoint.ts';
import type { RouteContext } from '../../../src/http/route-context.ts';

/** The status of a GET; 400 is that of one that was accepted and lacks a session. */
function statusOf(accept: string): number | undefined {
  let sent: number | undefined;
  const reply: HttpReply = {
    isDone: false,
    limitBody: () => {},
    send: (status) => {
      sent = status;
    },
    stream: () => {
      throw new Error('no stream was asked for');
    },
    onAbort: () => {},
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
  get({} as RouteContext, new ExchangeContext(request, reply), {});
  return sent;
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
])('an Accept of %j is answered with %d', (accept, status) => {
  expect(statusOf(accept)).toBe(status);
});

test('a long run of blanks in an Accept takes no longer than its length', () => {
  const startedAt = performance.now();
  expect(statusOf(`x${' '.repeat(100_000)}y`)).toBe(406);
  // Some milliseconds; each blank tried against all that follow it would be above ten seconds.
  expect(performance.now() - startedAt).toBeLessThan(2_000);
});
