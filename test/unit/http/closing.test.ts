// The end of a listener that has requests under way, over real sockets and on both fillings of the seam.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { closing } from '../../../src/http/closing.ts';
import { listen } from '../../../src/http/listener/listen.ts';
import type { HttpReply, Listener } from '../../../src/http/listener/seam.ts';
import { RawClient } from '../../fixtures/clients/raw-http.ts';
import { fillings } from '../../fixtures/gateway/fillings.ts';

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

describe.each(fillings)('a listener on %s', (prefer) => {
  let waiting: HttpReply[];
  let opened: Listener[];
  let clients: RawClient[];

  /** Answers at once, but for /slow: that waits in `waiting`. */
  const open = async (port = 0) => {
    const listener = await listen({
      host: '127.0.0.1',
      port,
      prefer,
      maxBodyBytes: 1_000,
      handler: () => (request, _, reply) => {
        if (request.path === '/slow') waiting.push(reply);
        else reply.send(200, [], request.path);
      },
    });
    opened.push(listener);
    return listener;
  };
  const connect = async ({ address }: Listener) => {
    const client = await RawClient.connect(address.port);
    clients.push(client);
    return client;
  };
  const waitingOf = async (listener: Listener) => {
    const client = await connect(listener);
    client.write(get('/slow'));
    await expect.poll(() => waiting.length, { timeout: 30_000 }).toBe(1);
    return client;
  };

  beforeEach(() => {
    waiting = [];
    opened = [];
    clients = [];
  });
  afterEach(() => {
    for (const client of clients) client.destroy();
    for (const listener of opened) listener.close();
  });

  test('that closes takes nobody new, answers what is under way, and ends with it', async () => {
    const listener = await open();
    const client = await waitingOf(listener);
    let isClosed = false;
    const closed = closing(listener)().then(() => {
      isClosed = true;
    });
    await expect(connect(listener)).rejects.toThrow('ECONNREFUSED');
    // Longer than any moment that would be meant for last words only.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect([isClosed, client.isClosed]).toEqual([false, false]);
    waiting[0]?.send(200, [], 'at last');
    expect((await client.answer()).body.toString()).toBe('at last');
    await closed;
    await client.closed();
  });

  test('that closes serves who is connected, until nothing is under way', async () => {
    const listener = await open();
    const other = await connect(listener);
    other.write(get('/before'));
    await other.answer();
    await waitingOf(listener);
    void closing(listener)();
    other.write(get('/after'));
    // node:http closes connections on which nothing is under way, which is no answer that a sender could take for one.
    if (prefer === 'node') await other.closed();
    else expect((await other.answer()).body.toString()).toBe('/after');
  });

  test('that closes leaves its address to another one meanwhile', async () => {
    // uWebSockets.js lets a port be used again only where it was told which one.
    const chosen = await open();
    chosen.close();
    const listener = await open(chosen.address.port);
    const client = await waitingOf(listener);
    const closed = closing(listener)();
    const successor = await open(listener.address.port);
    const other = await connect(successor);
    other.write(get('/new'));
    expect((await other.answer()).body.toString()).toBe('/new');
    waiting[0]?.send(200, [], 'old');
    expect((await client.answer()).body.toString()).toBe('old');
    await closed;
    other.write(get('/still'));
    expect((await other.answer()).body.toString()).toBe('/still');
  });

  test('that is closed again with less time cuts off what has not ended by then', async () => {
    const listener = await open();
    const client = await waitingOf(listener);
    const close = closing(listener);
    const closed = close();
    await close(0);
    await closed;
    await client.closed();
    expect(client.text).toBe('');
  });
});
