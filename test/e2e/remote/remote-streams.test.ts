// Streams of remote servers that are broken, resumed, split, too large or endless.

import { afterEach, describe, expect, test } from 'vitest';
import { endServers, serve, serveCalls } from '../../fixtures/remote/bad-servers.ts';
import { request, until } from '../../fixtures/remote/link-recorder.ts';
import { answerJson, beginStream, event, methodOf, result } from '../../fixtures/remote/local-server.ts';
import { checkGuarantees, httpLink, shakeHands } from '../../fixtures/remote/open-link.ts';

afterEach(async () => {
  await checkGuarantees();
  await endServers();
});

describe('a connection that breaks', () => {
  test('after the request was sent is reported as a call that may have been executed', async () => {
    const server = await serveCalls(({ res }) => void res.destroy());
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    expect(await recorder.failure(2)).toMatchObject({
      mayHaveRun: true,
      error: { code: 'ERR_CONNECTION_LOST' },
    });
  });

  test('during a JSON answer fails the call, and delivers no part of the answer', async () => {
    const server = await serveCalls(({ res, body }) => {
      const text = JSON.stringify(result(body));
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length });
      res.write(text.slice(0, -4), () => res.destroy());
    });
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    expect(await recorder.failure(2)).toMatchObject({
      mayHaveRun: true,
      error: { code: 'ERR_CONNECTION_LOST' },
    });
    expect(recorder.messages).toHaveLength(1);
  });

  test.each(['cut', 'ended'])('in a stream without event ids (%s) fails the call', async (how) => {
    const server = await serveCalls(({ res, body }) => {
      beginStream(res);
      res.write(event({ jsonrpc: '2.0', method: 'notifications/message' }));
      res.write(event(result(body)).slice(0, -1), () => void (how === 'cut' ? res.destroy() : res.end()));
    });
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    expect(await recorder.failure(2)).toMatchObject({
      mayHaveRun: true,
      error: { code: 'ERR_CONNECTION_LOST' },
    });
    expect(recorder.messages.filter(({ call }) => call === 2)).toHaveLength(1);
  });

  test('in a stream that cannot be resumed fails the call after some attempts', async () => {
    const server = await serveCalls(
      ({ res }) => {
        beginStream(res);
        res.end('id: e1\nretry: 10\ndata:\n\n');
      },
      ({ req, res }) =>
        void (req.headers['last-event-id'] === undefined ? res.writeHead(405).end() : res.destroy()),
    );
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    const { error, mayHaveRun } = await recorder.failure(2);
    expect(error.message).toContain('could not be resumed');
    expect(mayHaveRun).toBe(true);
    expect(server.requests.filter(({ headers }) => headers['last-event-id'] === 'e1')).toHaveLength(6);
  });

  test('in a stream with a refused resumption fails the call immediately', async () => {
    const server = await serveCalls(
      ({ res }) => {
        beginStream(res);
        res.end('id: e1\nretry: 10\ndata:\n\n');
      },
      ({ res }) => void res.writeHead(405).end(),
    );
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    expect((await recorder.failure(2)).error.message).toContain('405');
  });

  test('many times is resumed each time, if the server lets the client poll', async () => {
    let polls = 0;
    const server = await serveCalls(
      ({ res }) => {
        beginStream(res);
        res.end('id: e0\nretry: 10\ndata:\n\n');
      },
      ({ req, res }) => {
        if (req.headers['last-event-id'] === undefined) return void res.writeHead(405).end();
        polls += 1;
        beginStream(res);
        res.end(polls < 15 ? ': nothing yet\n\n' : event({ jsonrpc: '2.0', id: 2, result: {} }, 'e9'));
      },
    );
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    expect((await recorder.answer(2)).call).toBe(2);
    expect(polls).toBe(15);
  });
});

describe('a stream', () => {
  test('is parsed correctly however it is split', async () => {
    const text =
      '{"jsonrpc":"2.0","id":2,\r\ndata: "result":{"n":12345678901234567890,"f":1.0,"s":"\u00e9\u4e2d"}}';
    const server = await serveCalls(async ({ res }) => {
      beginStream(res);
      res.socket?.setNoDelay(true);
      for (const byte of Buffer.from(`\ufeff: hi\r\nevent: message\r\ndata: ${text}\r\n\r\n`)) {
        res.write(Buffer.from([byte]));
        await new Promise((resolve) => setImmediate(resolve));
      }
      res.end();
    });
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    expect((await recorder.answer(2)).text).toBe(text.replace('\r\ndata: ', '\n'));
  });

  test('that stays open after the answer is closed', async () => {
    let givenUp = 0;
    const server = await serveCalls(({ res, body }) => {
      res.on('close', () => {
        givenUp += 1;
      });
      beginStream(res);
      res.write(event(result(body), 'e1'));
    });
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    for (const call of [2, 3, 4]) link.send(request(call, 'x'), call);
    for (const call of [2, 3, 4]) await recorder.answer(call);
    await until('the closed streams', () => givenUp === 3);
    expect(recorder.undelivered).toEqual([]);
  });

  test('and its socket are closed when the call is forgotten', async () => {
    let wasClosed = false;
    const server = await serveCalls(({ res }) => {
      res.on('close', () => {
        wasClosed = true;
      });
    });
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    await until('the call at the server', () => server.requests.some(({ body }) => body.includes('"id":2')));
    link.forget(2);
    await until('the stream closed', () => wasClosed);
    expect(recorder.undelivered).toEqual([]);
  });
});

describe('a message above the limit', () => {
  const giant = 'x'.repeat(300_000);

  test('in a JSON body is reported by size and id', async () => {
    const server = await serveCalls(({ res, body }) => answerJson(res, result(body, { giant })));
    const { link, recorder } = await shakeHands(httpLink(server.url(), { maxMessageBytes: 100_000 }));
    link.send(request(2, 'x'), 2);
    await until('the report', () => recorder.oversized.length > 0);
    expect(recorder.oversized).toEqual([
      { size: JSON.stringify({ jsonrpc: '2.0', id: 2, result: { giant } }).length, id: '2', call: 2 },
    ]);
    expect(recorder.undelivered).toEqual([]);
  });

  test('in a stream is reported, and the rest of the stream is read', async () => {
    const server = await serveCalls(({ res, body }) => {
      beginStream(res);
      res.write(event({ jsonrpc: '2.0', method: 'notifications/message', params: { giant } }));
      res.end(event(result(body)));
    });
    const { link, recorder } = await shakeHands(httpLink(server.url(), { maxMessageBytes: 100_000 }));
    link.send(request(2, 'x'), 2);
    expect((await recorder.answer(2)).call).toBe(2);
    expect(recorder.oversized).toEqual([{ size: expect.any(Number), id: undefined, call: 2 }]);
  });

  test('does not use memory of its size', async () => {
    const rounds = 1200;
    const server = await serveCalls(async ({ res }) => {
      beginStream(res);
      res.write('data: {"id":2,"result":"');
      for (let round = 0; round < rounds && !res.destroyed; round += 1) {
        if (!res.write(giant.slice(0, 65_536))) await new Promise((resolve) => res.once('drain', resolve));
      }
      res.end('"}\n\n');
    });
    const { link, recorder } = await shakeHands(httpLink(server.url(), { maxMessageBytes: 100_000 }));
    const before = process.memoryUsage().rss;
    link.send(request(2, 'x'), 2);
    await until('the report', () => recorder.oversized.length > 0, 20_000);
    expect(recorder.oversized[0]).toMatchObject({ id: '2', call: 2 });
    expect(recorder.oversized[0]?.size).toBeGreaterThan(rounds * 65_536);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 << 20);
  });
});

describe('the order of the handshake', () => {
  test('is kept: no request is sent before the notification after initialize', async () => {
    const server = await serve(({ req, res, body }) => {
      if (req.method === 'GET') return void res.writeHead(405).end();
      if (methodOf(body) !== 'notifications/initialized') return answerJson(res, result(body));
      // Long enough for a premature request to arrive.
      setTimeout(() => res.writeHead(202).end(), 60);
    });
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    link.send(request(2, 'x'), 2);
    expect(link.queuedBytes).toBeGreaterThan(0);
    await recorder.answer(2);
    await until('the GET', () => server.requests.length === 4);
    expect(
      server.requests.map(({ line, body }) => (body === '' ? line : methodOf(body))).slice(0, 2),
    ).toEqual(['initialize', 'notifications/initialized']);
  });
});

describe('the GET stream of a server', () => {
  test.each([404, 405])('refused with %i is not retried', async (status) => {
    const server = await serveCalls(
      ({ res, body }) => answerJson(res, result(body)),
      ({ res }) => void res.writeHead(status).end(),
    );
    const { link, recorder } = await shakeHands(httpLink(server.url()));
    await until('the GET', () => server.requests.some(({ line }) => line.startsWith('GET')));
    for (let call = 2; call < 60; call += 1) {
      link.send(request(call, 'x'), call);
      await recorder.answer(call);
    }
    expect(server.requests.filter(({ line }) => line.startsWith('GET'))).toHaveLength(1);
    expect(recorder.ended).toBeUndefined();
  });

  test('is retried after a failure, and then resumed from the last event', async () => {
    let gets = 0;
    const server = await serveCalls(
      ({ res, body }) => answerJson(res, result(body)),
      ({ res }) => {
        gets += 1;
        if (gets === 1) return void res.writeHead(500).end();
        beginStream(res);
        const message = event({ jsonrpc: '2.0', method: `n${gets}` }, `e${gets}`);
        res.write(`retry: 15\n${message}`, () => void (gets === 2 ? res.destroy() : undefined));
      },
    );
    const { recorder } = await shakeHands(httpLink(server.url()));
    await until('the second event', () => recorder.messages.some(({ text }) => text.includes('n3')));
    const ids = server.requests
      .filter(({ line }) => line.startsWith('GET'))
      .map(({ headers }) => headers['last-event-id']);
    expect(ids).toEqual([undefined, undefined, 'e2']);
  });

  test('that worked before and now returns 404 ends the session as expired', async () => {
    let gets = 0;
    const server = await serveCalls(
      ({ res, body }) => answerJson(res, result(body)),
      ({ res }) => {
        gets += 1;
        if (gets > 1) return void res.writeHead(404).end();
        beginStream(res);
        res.end('retry: 10\n\n');
      },
    );
    const { recorder } = await shakeHands(httpLink(server.url()));
    expect((await recorder.end()).code).toBe('ERR_UPSTREAM_SESSION_EXPIRED');
  });
});
