// Connections to a remote server: assignment of requests, reuse, and TLS.

import { createServer as createTlsServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { endServers, serveCalls, serveTcp } from '../../fixtures/remote/bad-servers.ts';
import { request, until } from '../../fixtures/remote/link-recorder.ts';
import { answerJson, LocalServer, result } from '../../fixtures/remote/local-server.ts';
import { checkGuarantees, httpLink, modernLink, shakeHands } from '../../fixtures/remote/open-link.ts';
import { tlsIdentity } from '../../fixtures/remote/tls-identity.ts';

afterEach(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  await checkGuarantees();
  await endServers();
});

/** Counts the timers set by links. */
function watchLinkTimers(): () => number {
  let count = 0;
  const { setTimeout } = globalThis;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms?: number) => {
    if (new Error().stack?.includes('/actors/mcp/links/')) count += 1;
    return setTimeout(run, ms);
  }) as typeof setTimeout);
  return () => count;
}

function answerTo(id: number): string {
  const body = JSON.stringify({ jsonrpc: '2.0', id, result: { n: id } });
  return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** Returns the request id if the request arrived in a single piece. */
const idIn = (bytes: Buffer): number => JSON.parse(bytes.toString().split('\r\n\r\n')[1] ?? '').id;

const answerEach = (socket: Socket) => {
  socket.on('data', (bytes) => socket.write(answerTo(idIn(bytes))));
};

describe('calls to a remote server', () => {
  test('with JSON answers share connections, and set no timer per call', async () => {
    const server = await serveCalls(({ res, body }) => answerJson(res, result(body)));
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    await recorder.answer(2);
    let opened = 0;
    server.server.on('connection', () => {
      opened += 1;
    });
    const timers = watchLinkTimers();
    for (let call = 3; call < 23; call += 1) {
      link.send(request(call, 'x'), call);
      await recorder.answer(call);
    }
    // A late refusal of the server stream sets a timer, and may keep a connection busy.
    expect(opened).toBeLessThan(3);
    expect(timers()).toBeLessThan(3);
  });

  test('in parallel have a connection each, and surplus connections are closed when idle', async () => {
    const server = await serveCalls(({ res, body }) => {
      setTimeout(() => answerJson(res, result(body)), 50);
    });
    server.server.keepAliveTimeout = 60_000;
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    const calls = [2, 3, 4, 5, 6, 7];
    for (const call of calls) link.send(request(call, 'x'), call);
    for (const call of calls) await recorder.answer(call);
    expect(await server.connections()).toBeGreaterThanOrEqual(calls.length);
    await server.noConnections(20_000);
  });

  test('leave a connection that is closed when idle, even after a slow answer', async () => {
    const server = await serveCalls(({ res, body }) => {
      setTimeout(() => answerJson(res, result(body)), 5_000);
    });
    server.server.keepAliveTimeout = 60_000;
    const { link, recorder } = modernLink(server.url());
    link.send(request(2, 'x'), 2);
    await recorder.answer(2);
    expect(await server.connections()).toBe(1);
    await server.noConnections(20_000);
  });

  test('never get bytes that follow the answer to another call', async () => {
    const { url, sockets } = await serveTcp((socket) => {
      socket.on('data', (bytes) => {
        const id = idIn(bytes);
        // The answer is followed by an answer to the next call.
        socket.write(id === 2 ? answerTo(2) + answerTo(3).replace('"n":3', '"n":"forged"') : answerTo(id));
      });
    });
    const { link, recorder } = modernLink(url);
    link.send(request(2, 'x'), 2);
    await recorder.answer(2);
    link.send(request(3, 'x'), 3);
    expect((await recorder.answer(3)).text).toContain('"n":3');
    expect(sockets.size).toBe(2);
    expect(recorder.messages).toHaveLength(2);
  });

  test('are not sent on a connection that answered a call with the response of another call', async () => {
    const { url, sockets } = await serveTcp((socket) => {
      let last = 0;
      socket.on('data', (bytes) => {
        const id = idIn(bytes);
        // From the second call on, each gets the previous answer.
        socket.write(answerTo(last === 0 ? id : last));
        last = id;
      });
    });
    const { link, recorder } = modernLink(url);
    link.send(request(2, 'x'), 2);
    await recorder.answer(2);
    link.send(request(3, 'x'), 3);
    expect((await recorder.failure(3)).mayHaveRun).toBe(true);
    link.send(request(4, 'x'), 4);
    await recorder.answer(4);
    expect(sockets.size).toBe(2);
  });

  test('use a new connection when the server has closed the idle connection', async () => {
    const { url, sockets } = await serveTcp(answerEach);
    const { link, recorder } = modernLink(url);
    link.send(request(2, 'x'), 2);
    await recorder.answer(2);
    for (const socket of sockets) {
      socket.end();
      await until('the end of the connection', () => socket.closed);
    }
    link.send(request(3, 'x'), 3);
    await recorder.answer(3);
    expect(sockets.size).toBe(2);
  });

  test('are never sent on a reset connection', async () => {
    const { url, sockets } = await serveTcp(answerEach);
    const { link, recorder } = modernLink(url);
    link.send(request(2, 'x'), 2);
    await recorder.answer(2);
    // A call arrives in the event loop iteration that reads the reset, before the close event of the socket.
    setImmediate(() => {
      for (const socket of sockets) socket.resetAndDestroy();
      setImmediate(() => link.send(request(3, 'x'), 3));
    });
    await recorder.answer(3);
    expect(sockets.size).toBe(2);
  });

  test('are not sent on a connection that the server keeps for at most a second', async () => {
    const { url, sockets } = await serveTcp((socket) => {
      socket.on('data', (bytes) => {
        const id = idIn(bytes);
        socket.write(answerTo(id).replace('\r\n', '\r\nKeep-Alive: timeout=1\r\n'));
      });
    });
    const { link, recorder } = modernLink(url);
    for (const call of [2, 3]) {
      link.send(request(call, 'x'), call);
      await recorder.answer(call);
    }
    expect(sockets.size).toBe(2);
  });

  test('with a user name and password in the address send them as credentials', async () => {
    const server = await serveCalls(({ res, body }) => answerJson(res, result(body)));
    const url = server.url();
    url.username = 'me';
    url.password = 'p%C3%A4ss';
    const { link, recorder } = modernLink(url);
    link.send(request(2, 'x'), 2);
    await recorder.answer(2);
    const expected = `Basic ${Buffer.from('me:päss').toString('base64')}`;
    expect(server.requests[0]?.headers.authorization).toBe(expected);
  });
});

describe('over TLS', () => {
  async function tlsServer(): Promise<{ server: LocalServer; url: URL }> {
    const answerIt = ({ res, body }: { res: never; body: string }) => answerJson(res, result(body));
    const server = await LocalServer.start(answerIt as never, () => createTlsServer(tlsIdentity) as never);
    return { server, url: new URL(`https://localhost:${server.port}/mcp`) };
  }

  test('calls are answered sequentially on one connection', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    const { server, url } = await tlsServer();
    const { link, recorder } = modernLink(url);
    let opened = 0;
    server.server.on('secureConnection', () => {
      opened += 1;
    });
    for (const call of [2, 3, 4]) {
      link.send(request(call, 'x', { text: 'y'.repeat(100_000) }), call);
      await recorder.answer(call);
    }
    expect(opened).toBe(1);
    link.kill();
    await server.noConnections();
    await server.close();
  });

  test('a TLS session that was not resumed is not offered again', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    const { server } = await tlsServer();
    const { answer } = server;
    server.answer = (exchange) => {
      exchange.res.setHeader('connection', 'close');
      return answer(exchange);
    };
    const reused: boolean[] = [];
    server.server.on('secureConnection', (socket) => reused.push(socket.isSessionReused()));
    let hangsUp = false;
    const { url: inFront } = await serveTcp((socket) => {
      if (hangsUp) {
        socket.destroy();
        return;
      }
      const behind = connect(server.port, '127.0.0.1');
      behind.on('error', () => {});
      socket.pipe(behind).pipe(socket);
    });
    const { link, recorder } = modernLink(new URL(`https://localhost:${inFront.port}/mcp`));
    for (const call of [2, 3, 4, 5]) {
      hangsUp = call === 4;
      link.send(request(call, 'x'), call);
      if (hangsUp) expect((await recorder.failure(call)).mayHaveRun).toBe(false);
      else await recorder.answer(call);
    }
    expect(reused).toEqual([false, true, false]);
    link.kill();
    await server.close();
  });

  test('an untrusted certificate is rejected before anything is sent', async () => {
    const { server, url } = await tlsServer();
    const { link, recorder } = modernLink(url);
    link.send(request(2, 'x'), 2);
    const { error, mayHaveRun } = await recorder.failure(2);
    expect([mayHaveRun, error.message]).toEqual([false, expect.stringMatching(/self-signed certificate/)]);
    expect(server.requests).toEqual([]);
    await server.close();
  });
});
