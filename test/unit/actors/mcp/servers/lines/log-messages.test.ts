// Stored log messages of a server, and gateway log lines about the server.

import { expect, test } from 'vitest';
import { type Log, silentLog } from '../../../../../../actors/base/errors/log.ts';
import { Redactor } from '../../../../../../actors/base/errors/redact.ts';
import { readServerMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import { LogMessages } from '../../../../../../actors/mcp/servers/lines/log-messages.ts';
import { RecentLines } from '../../../../../../actors/mcp/servers/lines/recent.ts';
import { storingLog } from '../../../../../../actors/mcp/servers/lines/storing-log.ts';

const redactor = new Redactor(['hush-hush-4711']);
const message = (params: unknown) =>
  readServerMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params })));

function storedMessages() {
  const stored: string[] = [];
  return { stored, messages: new LogMessages(redactor, (level, text) => stored.push(`${level} ${text}`)) };
}

test("a log message becomes one line of text with the server's level, without secrets", () => {
  const { stored, messages } = storedMessages();
  messages.accept(message({ level: 'alert', logger: 'db', data: 'lost\n  hush-hush-4711 \u001b[31mred' }));
  messages.accept(message({ level: 'notice', data: { rows: 3 } }));
  messages.accept(message({ level: 'loud' }));
  messages.accept(readServerMessage(Buffer.from('{"method":"notifications/message"}')));
  expect(stored).toEqual(['error db: lost [redacted] red', 'info {"rows":3}', 'info ', 'info ']);
});

test('up to a hundred log messages per second are stored, each truncated', () => {
  const { stored, messages } = storedMessages();
  const large = `${'x'.repeat(480)}hush-hush-4711${'y'.repeat(200_000)}`;
  const largeMessage = message({ level: 'debug', data: large });
  for (let n = 0; n < 1_000; n += 1) messages.accept(largeMessage);
  expect(stored).toHaveLength(100);
  for (const line of stored) {
    expect(line.length).toBeLessThan(600);
    expect(line).not.toContain('hush');
  }
});

test('gateway log lines are stored with the lines of their source, at a limited rate per source', () => {
  const lines = new RecentLines();
  const logged: string[] = [];
  const note = (_: object, text: string) => void logged.push(text);
  const log: Log = storingLog({ ...silentLog, debug: note, info: note, warn: note }, lines, redactor);
  log.info({ server: 'a', tool: 'x', reason: 'hush-hush-4711 was\nrefused', traceparent: '00' }, 'call');
  log.debug({ server: 'a' }, 'a detail');
  log.info({ server: 'a', stream: 'stderr' }, 'a line');
  log.info({}, 'without a server');
  expect(logged).toEqual(['call', 'a detail', 'a line', 'without a server']);
  const line = { at: expect.any(Number), level: 'info', from: 'gateway' };
  expect(lines.read({ lines: 10 })).toEqual([
    { ...line, kind: 'server', name: 'a', text: 'call: [redacted] was refused (tool=x)' },
    { ...line, kind: 'gateway', name: '', text: 'without a server' },
  ]);
  for (let n = 0; n < 500; n += 1) log.warn({ server: 'loud' }, 'again');
  log.warn({ server: 'calm' }, 'once');
  expect(lines.read({ kind: 'server', name: 'loud', lines: 1_000 })).toHaveLength(100);
  expect(lines.read({ kind: 'server', name: 'calm', lines: 10 })).toHaveLength(1);
});

test.each([
  [{ trigger: 'orders', agent: 'clerk' }, 'trigger', 'orders', 'text (agent=clerk)'],
  [{ agent: 'clerk', names: ['x'] }, 'agent', 'clerk', 'text (names=["x"])'],
  [{ fleet: 'team' }, 'fleet', 'team', 'text'],
  [{ flow: 'deploy' }, 'flow', 'deploy', 'text'],
  [{ connection: 'botmessenger/42' }, 'connection', 'botmessenger/42', 'text'],
  [{ reason: 'full' }, 'store', '', 'text: full'],
])('a gateway log line with the fields %j belongs to the %s %s', (fields, kind, name, text) => {
  const lines = new RecentLines();
  storingLog(silentLog, lines, redactor, 'store').error(fields, 'text');
  expect(lines.read({ lines: 10 })).toEqual([expect.objectContaining({ kind, name, text, level: 'error' })]);
});
