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

test('gateway log lines about a server are stored with the lines of the server, at a limited rate per server', () => {
  const lines = new RecentLines();
  const logged: string[] = [];
  const note = (_: object, text: string) => void logged.push(text);
  const log: Log = storingLog({ ...silentLog, debug: note, info: note, warn: note }, lines, redactor);
  log.info({ server: 'a', tool: 'x', reason: 'hush-hush-4711 was\nrefused', traceparent: '00' }, 'call');
  log.debug({ server: 'a' }, 'a detail');
  log.info({ server: 'a', stream: 'stderr' }, 'a line');
  log.info({}, 'without a server');
  expect(logged).toEqual(['call', 'a detail', 'a line', 'without a server']);
  expect(lines.read({ lines: 10 })).toEqual([
    {
      at: expect.any(Number),
      server: 'a',
      level: 'info',
      from: 'gateway',
      text: 'call: [redacted] was refused (tool=x)',
    },
  ]);
  for (let n = 0; n < 500; n += 1) log.warn({ server: 'loud' }, 'again');
  log.warn({ server: 'calm' }, 'once');
  expect(lines.read({ server: 'loud', lines: 1_000 })).toHaveLength(100);
  expect(lines.read({ server: 'calm', lines: 10 })).toHaveLength(1);
});
