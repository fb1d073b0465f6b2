// What is kept of a server's log messages, and of the gateway's own log about it.

import { expect, test } from 'vitest';
import { type Log, silentLog } from '../../../../../actors/base/errors/log.ts';
import { Redactor } from '../../../../../actors/base/errors/redact.ts';
import { readServerMessage } from '../../../../../actors/mcp/jsonrpc/read-message.ts';
import { keptLog } from '../../../../../actors/mcp/servers/lines/kept-log.ts';
import { LogMessages } from '../../../../../actors/mcp/servers/lines/log-messages.ts';
import { RecentLines } from '../../../../../actors/mcp/servers/lines/recent-lines.ts';

const redactor = new Redactor(['hush-hush-4711']);
const message = (params: unknown) =>
  readServerMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params })));

function keptMessages() {
  const kept: string[] = [];
  return { kept, messages: new LogMessages(redactor, (level, text) => kept.push(`${level} ${text}`)) };
}

test('a log message is one line of text with the level that the server gave it, without secrets', () => {
  const { kept, messages } = keptMessages();
  messages.take(message({ level: 'alert', logger: 'db', data: 'lost\n  hush-hush-4711 \u001b[31mred' }));
  messages.take(message({ level: 'notice', data: { rows: 3 } }));
  messages.take(message({ level: 'loud' }));
  messages.take(readServerMessage(Buffer.from('{"method":"notifications/message"}')));
  expect(kept).toEqual(['error db: lost [redacted] red', 'info {"rows":3}', 'info ', 'info ']);
});

test('a hundred messages a second are kept, a bounded part of each, and what is left out is counted (LGM1)', () => {
  const { kept, messages } = keptMessages();
  const large = `${'x'.repeat(480)}hush-hush-4711${'y'.repeat(200_000)}`;
  const one = message({ level: 'debug', data: large });
  for (let at = 0; at < 1_000; at += 1) messages.take(one);
  expect(kept).toHaveLength(100);
  for (const line of kept) {
    expect(line.length).toBeLessThan(600);
    expect(line).not.toContain('hush');
  }
});

test('what the log has of a server is kept with its lines, at a bounded rate for each server (KLG1)', () => {
  const lines = new RecentLines();
  const logged: string[] = [];
  const note = (_: object, text: string) => void logged.push(text);
  const log: Log = keptLog({ ...silentLog, debug: note, info: note, warn: note }, lines, redactor);
  log.info({ server: 'a', tool: 'x', reason: 'hush-hush-4711 was\nrefused', traceparent: '00' }, 'call');
  log.debug({ server: 'a' }, 'a detail');
  log.info({ server: 'a', stream: 'stderr' }, 'a line');
  log.info({}, 'of nobody');
  expect(logged).toEqual(['call', 'a detail', 'a line', 'of nobody']);
  expect(lines.read({ lines: 10 })).toEqual([
    {
      at: expect.any(Number),
      server: 'a',
      level: 'info',
      from: 'gateway',
      text: 'call: [redacted] was refused (tool=x)',
    },
  ]);
  for (let at = 0; at < 500; at += 1) log.warn({ server: 'loud' }, 'again');
  log.warn({ server: 'calm' }, 'once');
  expect(lines.read({ server: 'loud', lines: 1_000 })).toHaveLength(100);
  expect(lines.read({ server: 'calm', lines: 10 })).toHaveLength(1);
});
