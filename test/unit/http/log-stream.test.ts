// Followers of GET /logs: limit, and slow readers.

import { expect, test } from 'vitest';
import { OverloadedError } from '../../../actors/base/errors/errors.ts';
import { PrincipalShares } from '../../../actors/mcp/servers/calls/client-shares.ts';
import { type NewLine, RecentLines } from '../../../actors/mcp/servers/lines/recent.ts';
import { handleLogs } from '../../../src/http/api/log-stream.ts';
import type { ExchangeContext } from '../../../src/http/mcp/exchange-context.ts';
import type { RouteContext } from '../../../src/http/route-context.ts';

const newLine = (text: string): NewLine => ({
  kind: 'server',
  name: 'loud',
  level: 'info',
  from: 'stderr',
  text,
});

function gatewayWithLines() {
  const lines = new RecentLines();
  const clients = { sessions: { shares: new PrincipalShares() } };
  const parts = { mcp: { lines, clients }, life: { isEnding: false }, redactor: { redact: String } };
  const routes = { ...parts, heartbeat: { streams: new Set() } } as unknown as RouteContext;
  /** Starts a follower; `hasRoom` returns true if the connection accepts data. */
  const follow = (hasRoom: () => boolean) => {
    const client = { text: '', isEnded: false, drain: () => {}, leave: () => {} };
    const stream = {
      isDone: false,
      write: (text: string) => {
        client.text += text;
        return hasRoom();
      },
      onDrain: (listener: () => void) => {
        client.drain = listener;
      },
      end: () => {
        client.isEnded = true;
      },
    };
    const reply = {
      stream: () => stream,
      onAbort: (listener: () => void) => {
        client.leave = listener;
      },
    };
    const request = { query: '', headers: { accept: 'text/event-stream' } };
    handleLogs(routes, { request, reply, headers: () => [] } as unknown as ExchangeContext);
    return client;
  };
  return { lines, follow };
}

test('a slow reader of the log stream gets up to a thousand buffered lines in order, then its stream ends with a reason', () => {
  const { lines, follow } = gatewayWithLines();
  let hasRoom = false;
  const slow = follow(() => hasRoom);
  for (let i = 0; i <= 1_000; i += 1) lines.add(newLine(`line ${i}`));
  hasRoom = true;
  slow.drain();
  const lineNumbers = [...slow.text.matchAll(/"text":"line (\d+)"/g)].map(([, number]) => Number(number));
  expect(lineNumbers).toEqual(Array.from({ length: 1_001 }, (_, i) => i));
  hasRoom = false;
  for (let i = 0; i < 1_002; i += 1) lines.add(newLine('more'));
  expect(slow.isEnded).toBe(true);
  expect(slow.text).toMatch(/event: end\ndata: {"reason":"the client reads more slowly/);
  expect(lines.watchers).toBe(0);
});

test('a log stream beyond the limit of 32 is refused until another stream ends', () => {
  const { lines, follow } = gatewayWithLines();
  const [first] = Array.from({ length: 32 }, () => follow(() => true));
  expect(() => follow(() => true)).toThrow(OverloadedError);
  first?.leave();
  follow(() => true);
  expect(lines.watchers).toBe(32);
});
