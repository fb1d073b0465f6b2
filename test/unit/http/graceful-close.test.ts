// Closing a listener with running requests, over real sockets and with both HTTP implementations.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { gracefulCloser } from '../../../src/http/graceful-close.ts';
import { listen } from '../../../src/http/listener/listen.ts';
import type { HttpReply, Listener } from '../../../src/http/listener/seam.ts';
import { RawClient } from '../../fixtures/clients/raw-http.ts';
import { httpEngines } from '../../fixtures/gateway/http-engines.ts';

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

describe.each(httpEngines)('a listener on %s', (prefer) => {
  let waiting: HttpReply[];
  let opened: Listener[];
  let clients: RawClient[];

  /** Starts a server that responds immediately. Replies for /slow are collected in `waiting`. */
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

  test('stops accepting connections when it closes, and finishes running requests', async () => {
    const listener = await open();
    const client = await waitingOf(listener);
    let isClosed = false;
    const closed = gracefulCloser(listener)().then(() => {
      isClosed = true;
    });
    await expect(connect(listener)).rejects.toThrow('ECONNREFUSED');
    // Exceeds the short grace period.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect([isClosed, client.isClosed]).toEqual([false, false]);
    waiting[0]?.send(200, [], 'at last');
    expect((await client.answer()).body.toString()).toBe('at last');
    await closed;
    await client.closed();
  });

  test('serves existing connections while it closes', async () => {
    const listener = await open();
    const other = await connect(listener);
    other.write(get('/before'));
    await other.answer();
    await waitingOf(listener);
    void gracefulCloser(listener)();
    other.write(get('/after'));
    // node:http closes idle connections immediately.
    if (prefer === 'node') await other.closed();
    else expect((await other.answer()).body.toString()).toBe('/after');
  });

  test('releases its address to a successor while it closes', async () => {
    // uWebSockets.js reuses a port only if it was requested explicitly.
    const server = await open();
    server.close();
    const listener = await open(server.address.port);
    const client = await waitingOf(listener);
    const closed = gracefulCloser(listener)();
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

  test('aborts remaining requests if it is closed a second time with a shorter grace period', async () => {
    const listener = await open();
    const client = await waitingOf(listener);
    const close = gracefulCloser(listener);
    const closed = close();
    await close(0);
    await closed;
    await client.closed();
    expect(client.text).toBe('');
  });
});
