// Clients that send incomplete bodies: the memory is limited in total and per address, and other clients
// still get through.

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
} from '../../fixtures/automation/automation.ts';
import { apiServer, call, post, rpc } from '../../fixtures/clients/api-client.ts';
import { residentBytes } from '../../fixtures/clients/crowd.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { httpEnginesInTurn } from '../../fixtures/gateway/http-engines.ts';

const MB = 1024 * 1024;

interface Sender {
  readonly socket: Socket;
  answer: string;
}

const hook = ['POST /hooks/orders HTTP/1.1', `x-hub-signature-256: sha256=${'0'.repeat(64)}`];

/** Starts a request from a local address, and sends the body except the last byte. */
function beginBody(
  port: number,
  from: string,
  announced: number,
  bytes: Buffer,
  head: readonly string[] = hook,
): Sender {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  const sender: Sender = { socket, answer: '' };
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    sender.answer += chunk.toString('latin1');
  });
  const lines = [
    ...head,
    'host: localhost',
    'content-type: application/json',
    `content-length: ${announced}`,
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  socket.write(bytes);
  return sender;
}

test.each(httpEnginesInTurn)(
  'unsigned incomplete bodies use little memory, and other requests are answered (%s)',
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
    const before = residentBytes(gateway.pid);
    const body = Buffer.alloc(5 * MB, 0x20);
    const senders = Array.from({ length: 80 }, () =>
      beginBody(gateway.port, '127.0.0.2', body.length + 1, body),
    );
    const refusals = () => senders.filter(({ answer }) => answer.startsWith('HTTP/1.1 503 '));
    await eventually(() => expect(refusals().length).toBeGreaterThanOrEqual(58));
    expect(refusals()[0]?.answer).toMatch(/retry-after: \d+/i);
    expect(residentBytes(gateway.pid) - before).toBeLessThan(220 * MB);
    // Another address still has capacity, also for bodies in pieces.
    const text = 'x'.repeat(2 * MB);
    expect((await postHook(gateway.url, '/hooks/orders', { text })).status).toBe(202);
    for (const { socket } of senders) socket.destroy();
    const nextSender = beginBody(gateway.port, '127.0.0.2', body.length, body);
    await eventually(() => expect(nextSender.answer).toMatch(/^HTTP\/1.1 401 /));
    nextSender.socket.destroy();
  },
  60_000,
);

test.each(httpEnginesInTurn)(
  'incomplete requests to a gateway without a key use little memory, and other requests are answered (%s)',
  async (http) => {
    const gateway = await startGateway({ http, servers: { api: apiServer() } });
    const small = () => rpc(gateway.url, 'api', call('echo', { small: true }));
    expect((await small()).status).toBe(200);
    const before = residentBytes(gateway.pid);
    const body = Buffer.alloc(15 * MB, 0x20);
    const heads = [
      ['POST /mcp HTTP/1.1', 'accept: application/json, text/event-stream'],
      ['POST /rpc HTTP/1.1', 'x-mcp-server: api'],
    ];
    const senders = Array.from({ length: 40 }, (_, n) =>
      beginBody(gateway.port, '127.0.0.2', body.length + 1, body, heads[n % 2]),
    );
    const refusals = () => senders.filter(({ answer }) => answer.startsWith('HTTP/1.1 503 '));
    await eventually(() => expect(refusals().length).toBeGreaterThanOrEqual(32));
    expect(refusals()[0]?.answer).toMatch(/retry-after: \d+/i);
    expect(refusals()[0]?.answer).toMatch(/too many large bodies are being received/);
    expect(residentBytes(gateway.pid) - before).toBeLessThan(220 * MB);
    // A body in one piece uses no capacity. Another address still has some.
    expect((await small()).status).toBe(200);
    const large = call('echo', { text: 'x'.repeat(2 * MB) });
    expect((await post(`${gateway.url}/mcp/api`, large)).status).toBe(400);
    expect((await rpc(gateway.url, 'api', large)).status).toBe(200);
    for (const { socket } of senders) socket.destroy();
    const nextSender = beginBody(gateway.port, '127.0.0.2', body.length, body, heads[1]);
    await eventually(() => expect(nextSender.answer).toMatch(/^HTTP\/1.1 400 /));
    nextSender.socket.destroy();
  },
  60_000,
);
