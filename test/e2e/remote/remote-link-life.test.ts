// Start and end of links to remote servers, the resources in use meanwhile, and the older HTTP+SSE transport.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { endServers, serve, serveCalls, serveTcp } from '../../fixtures/remote/bad-servers.ts';
import { request, until } from '../../fixtures/remote/link-recorder.ts';
import { type LiveTimers, watchTimers } from '../../fixtures/remote/live-timers.ts';
import {
  type Answerer,
  answerJson,
  beginStream,
  type Exchange,
  event,
  idOf,
  methodOf,
  result,
} from '../../fixtures/remote/local-server.ts';
import { checkGuarantees, httpLink, shakeHands, sseLink } from '../../fixtures/remote/open-link.ts';

afterEach(async () => {
  timers.stop();
  await checkGuarantees();
  await endServers();
});

let timers: LiveTimers;

beforeEach(() => {
  timers = watchTimers();
});

describe('the end of a connection to a remote server', () => {
  test.each(['kill', 'close'] as const)('by %s leaves no socket and no timer', async (how) => {
    const exchanges: Exchange[] = [];
    const server = await serveCalls(
      (exchange) => {
        if (idOf(exchange.body) === 2) return void exchanges.push(exchange);
        beginStream(exchange.res);
        exchange.res.end('id: e1\nretry: 60000\ndata:\n\n');
      },
      ({ res }) => {
        beginStream(res);
        res.end('retry: 60000\n\n');
      },
    );
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'hangs'), 2);
    link.send(request(3, 'waits to be resumed'), 3);
    link.send(Buffer.from('{"jsonrpc":"2.0","id":2,"result":{}}'));
    await until('all current requests', () => exchanges.length === 2 && timers.count >= 3);
    await link[how]();
    expect(recorder.ended?.code).toBe('ERR_STOPPED');
    await server.noConnections(3_500);
    expect(timers.count).toBe(0);
    expect(recorder.undelivered).toEqual([]);
  });

  test('by a lost session leaves no socket and no timer', async () => {
    const server = await serveCalls(({ res }) => void res.writeHead(404).end());
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    await recorder.end();
    await server.noConnections(3_500);
    expect(timers.count).toBe(0);
  });

  test('by close does not report the calls that the server drops with the session', async () => {
    const streams: Exchange['res'][] = [];
    const server = await serve(({ req, res, body }) => {
      if (req.method === 'GET') return void res.writeHead(405).end();
      if (req.method === 'DELETE') {
        for (const stream of streams) stream.destroy();
        return void setTimeout(() => res.writeHead(200).end(), 50);
      }
      res.setHeader('mcp-session-id', `session-${server.requests.length}`);
      if (methodOf(body) === 'hangs') {
        beginStream(res);
        return void streams.push(res);
      }
      answerJson(res, result(body));
    });
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    for (const call of [2, 3]) link.send(request(call, 'hangs'), call);
    await until('both at the server', () => streams.length === 2);
    await link.close();
    expect(recorder.undelivered).toEqual([]);
    // The first session id of the server stays in use.
    expect(server.requests.at(-1)?.headers['mcp-session-id']).toBe('session-1');
  });

  test('does not wait for a server that does not answer DELETE', async () => {
    const server = await serve(({ req, res, body }) => {
      if (req.method !== 'POST') return;
      res.setHeader('mcp-session-id', 'abc');
      answerJson(res, result(body));
    });
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    const before = performance.now();
    await link.close();
    expect(performance.now() - before).toBeGreaterThan(1_500);
    // Without this limit it would be 30 s, as for other notifications.
    expect(performance.now() - before).toBeLessThan(15_000);
    expect(recorder.ended?.code).toBe('ERR_STOPPED');
  });

  test('can be requested inside a message callback, and no message follows', async () => {
    const server = await serveCalls(({ res }) => {
      beginStream(res);
      res.end(Array.from({ length: 50 }, (_, n) => event({ jsonrpc: '2.0', method: `n${n}` })).join(''));
    });
    const opened = httpLink(server.url());
    const onMessage = opened.recorder.onMessage.bind(opened.recorder);
    opened.recorder.onMessage = (bytes, call) => {
      onMessage(bytes, call);
      if (bytes.includes('n5')) opened.link.kill();
    };
    const { link, recorder } = await shakeHands(opened);
    link.send(request(2, 'x'), 2);
    await recorder.end();
    await server.noConnections();
    expect(recorder.messages.at(-1)?.text).toContain('n5');
  });
});

test('a connection to a remote server counts the bytes that the server has not accepted yet', async () => {
  const { url, sockets } = await serveTcp((socket) => socket.pause());
  const { link, recorder } = httpLink(url);
  const size = 16 << 20;
  link.send(Buffer.alloc(size, 0x20), 2);
  expect(link.queuedBytes).toBe(size);
  await until('a connection', () => sockets.size > 0);
  expect(link.queuedBytes).toBe(size);
  for (const socket of sockets) socket.resume();
  await until('all taken', () => link.queuedBytes === 0);
  link.kill();
  expect(recorder.ended).toBeDefined();
});

test('sequential calls to a remote server share one TCP connection', async () => {
  let connections = 0;
  const server = await serveCalls(({ res, body }) => answerJson(res, result(body)));
  server.server.on('connection', () => {
    connections += 1;
  });
  const { link, recorder } = await shakeHands(httpLink(server.url()));
  for (let call = 2; call < 100; call += 1) {
    link.send(request(call, 'x'), call);
    await recorder.answer(call);
  }
  expect(connections).toBeLessThanOrEqual(3);
});

describe('the older transport (HTTP+SSE)', () => {
  const openFails = async (answer: Answerer, message: RegExp): Promise<void> => {
    const server = await serve(answer);
    const { link, recorder } = sseLink(server.url('/sse?key=s3cret-value'), { openTimeoutMs: 150 });
    const error = await link.open().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'ERR_START_FAILED', message: expect.stringMatching(message) });
    expect(String(error)).not.toContain('s3cret');
    expect(recorder.ended).toBeDefined();
    await server.noConnections();
  };

  test('does not send the configured headers to another origin', async () => {
    const other = await serve(({ res }) => void res.writeHead(202).end());
    await openFails(({ res }) => {
      beginStream(res);
      res.write(`event: endpoint\ndata: ${other.url('/take').href}\n\n`);
    }, /another origin/);
    expect(other.requests).toEqual([]);
  });

  test.each<[string, Answerer, RegExp]>([
    ['sends no address in time', ({ res }) => beginStream(res), /within 150 ms/],
    [
      'names nonsense',
      ({ res }) => {
        beginStream(res);
        res.write('event: endpoint\ndata: http://[\n\n');
      },
      /not a URL/,
    ],
    ['answers 401', ({ res }) => void res.writeHead(401).end('who?'), /401.*who\?.*headers:/],
    [
      'answers HTML',
      ({ res }) => void res.writeHead(200, { 'content-type': 'text/html' }).end(),
      /text\/html/,
    ],
    [
      'closes the stream',
      ({ res }) => {
        beginStream(res);
        res.end();
      },
      /closed the stream/,
    ],
    ['dies', ({ res }) => void res.destroy(), /lost/],
  ])('fails to open when the server %s', async (_name, answer, message) => {
    await openFails(answer, message);
  });

  test('closes when its stream breaks, and reports the calls that were never sent', async () => {
    let stream: Exchange['res'] | undefined;
    const server = await serve(({ req, res }) => {
      if (req.method === 'POST') return;
      stream = res;
      beginStream(res);
      res.write('event: endpoint\ndata: /take?id=1\n\n');
    });
    const { link, recorder } = sseLink(server.url('/sse'));
    await link.open();
    link.ready('2024-11-05');
    link.send(Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}'));
    link.send(request(2, 'x'), 2);
    await until('the first message', () => server.requests.some(({ line }) => line === 'POST /take?id=1'));
    stream?.destroy();
    expect((await recorder.end()).code).toBe('ERR_CONNECTION_LOST');
    expect(recorder.undelivered).toMatchObject([{ call: 2, mayHaveRun: false }]);
  });

  test('reports an oversized message and continues to read', async () => {
    const server = await serve(({ req, res }) => {
      if (req.method === 'POST') return void res.writeHead(202).end();
      beginStream(res);
      res.write('event: endpoint\ndata: /take\n\n');
      res.write(
        event({ jsonrpc: '2.0', id: 2, result: 'x'.repeat(5000) }) +
          event({ jsonrpc: '2.0', id: 3, result: 1 }),
      );
    });
    const { link, recorder } = sseLink(server.url('/sse'), { maxMessageBytes: 1000 });
    await link.open();
    await recorder.answer(3);
    expect(recorder.oversized).toMatchObject([{ id: '2' }]);
    await link.close();
  });
});
