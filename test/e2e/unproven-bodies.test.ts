// Senders without a credential that send bodies by halves: what they hold is bounded together, and per address, and others
// still get through.

import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import {
  eventually,
  httpAgent,
  postHook,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../fixtures/automation.ts';
import { fillings } from '../fixtures/fillings.ts';

const MB = 1024 * 1024;

function rssBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

interface Sender {
  readonly socket: Socket;
  answer: string;
}

/** Begins a request to a hook from an address of this machine, and sends all of its body but the last byte. */
function beginBody(port: number, from: string, announced: number, bytes: Buffer): Sender {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  const sender: Sender = { socket, answer: '' };
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    sender.answer += chunk.toString('latin1');
  });
  socket.write(
    `POST /hooks/orders HTTP/1.1\r\nhost: gateway\r\ncontent-type: application/json\r\n` +
      `x-hub-signature-256: sha256=${'0'.repeat(64)}\r\ncontent-length: ${announced}\r\n\r\n`,
  );
  socket.write(bytes);
  return sender;
}

test.each(fillings)(
  'half-sent bodies that nobody has signed hold little, and others get through (%s)',
  async (http) => {
    const program = await startAgent();
    const gateway = await startAutomation({
      http,
      resources: [
        trigger('orders', {
          type: 'HTTP',
          config: { path: '/hooks/orders', webhook_secret: SECRET },
          default_agent: 'orders',
        }),
        httpAgent('orders', program.url),
      ],
    });
    expect((await postHook(gateway.url, '/hooks/orders', { text: 'first' })).status).toBe(202);
    const before = rssBytes(gateway.pid);
    const body = Buffer.alloc(5 * MB, 0x20);
    const senders = Array.from({ length: 80 }, () =>
      beginBody(gateway.port, '127.0.0.2', body.length + 1, body),
    );
    const refused = () => senders.filter(({ answer }) => answer.startsWith('HTTP/1.1 503 '));
    await eventually(() => expect(refused().length).toBeGreaterThanOrEqual(58));
    expect(refused()[0]?.answer).toMatch(/retry-after: \d+/i);
    expect(rssBytes(gateway.pid) - before).toBeLessThan(220 * MB);
    // From another address there is room, also for what comes in pieces.
    const text = 'x'.repeat(2 * MB);
    expect((await postHook(gateway.url, '/hooks/orders', { text })).status).toBe(202);
    for (const { socket } of senders) socket.destroy();
    const again = beginBody(gateway.port, '127.0.0.2', body.length, body);
    await eventually(() => expect(again.answer).toMatch(/^HTTP\/1.1 401 /));
    again.socket.destroy();
  },
  60_000,
);
