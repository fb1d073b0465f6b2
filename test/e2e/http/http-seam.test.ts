// Both HTTP engines with real sockets: all tests run on uWebSockets.js and on node:http, so that routes need
// not know the engine. Unavoidable differences are named in the tests.

import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AlreadyInUseError } from '../../../actors/base/errors/errors.ts';
import { listen } from '../../../src/http/listener/listen.ts';
import { Readers } from '../../../src/http/listener/readers.ts';
import type {
  BodyProblem,
  HttpReply,
  HttpRequest,
  HttpStream,
  Listener,
  RequestHandler,
} from '../../../src/http/listener/seam.ts';
import { RawClient } from '../../fixtures/clients/raw-http.ts';
import { httpEngines } from '../../fixtures/gateway/http-engines.ts';

const MAX_BODY_BYTES = 1_000_000;
/** Events that are usually immediate may be slow on a busy machine. */
const EVENTUALLY = { timeout: 40_000, interval: 10 };
const TEXT = [['content-type', 'text/plain']] as const;

/** 20 MB without repetitions, so that lost, doubled or swapped pieces are detected. */
const big = Buffer.alloc(20_000_000);
for (let at = 0; at + 4 <= big.length; at += 4) big.writeUInt32LE((at * 2_654_435_761) % 2 ** 32, at);

function sha(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

let listener: Listener;
let faults: unknown[] = [];
let clients: RawClient[] = [];
const warnings: string[] = [];
process.on('warning', (warning) => warnings.push(warning.message));
const unhandled = vi.fn();
process.on('unhandledRejection', unhandled);

async function serveWith(
  prefer: 'uws' | 'node',
  handler: RequestHandler,
  bodyTimeoutMs?: number,
  readers?: Readers,
): Promise<void> {
  listener?.close();
  listener = await listen({
    host: '127.0.0.1',
    port: 0,
    maxBodyBytes: MAX_BODY_BYTES,
    handler,
    prefer,
    onFault: (error) => faults.push(error),
    ...(bodyTimeoutMs === undefined ? {} : { bodyTimeoutMs }),
    ...(readers === undefined ? {} : { readers }),
  });
}

async function client(): Promise<RawClient> {
  const connection = await RawClient.connect(listener.address.port);
  clients.push(connection);
  return connection;
}

function get(path: string, more = ''): string {
  return `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
}

function post(path: string, body: string, more = ''): string {
  return `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n${more}\r\n${body}`;
}

const CHUNKED = 'POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';

/** Responds with the request as the routes see it, or the problem with its body. */
function echo(request: HttpRequest, body: Buffer | BodyProblem, reply: HttpReply): void {
  if (body === 'too_large') reply.send(413, TEXT, 'too large');
  else if (body === 'over_budget') reply.send(503, TEXT, 'no room');
  else if (body === 'too_slow') reply.send(408, [...TEXT, ['connection', 'close']], 'too slow');
  else {
    const { method, path, query, headers, remoteAddress, localPort } = request;
    const text = body.length > 10_000 ? sha(body) : body.toString('latin1');
    reply.send(
      200,
      TEXT,
      JSON.stringify({ method, path, query, headers, remoteAddress, localPort, body: text }),
    );
  }
}

async function expectNoConnections(): Promise<void> {
  await vi.waitFor(() => expect(listener.open).toBe(0), EVENTUALLY);
}

describe.each(httpEngines)('the HTTP interface on %s', (kind) => {
  beforeEach(async () => {
    faults = [];
    await serveWith(kind, () => echo);
  });

  afterEach(async () => {
    for (const connection of clients) connection.destroy();
    clients = [];
    listener.close();
    await expectNoConnections();
    expect(unhandled).not.toHaveBeenCalled();
    // uWebSockets.js warns about writes outside a cork, node about leaking listeners.
    expect(warnings).toEqual([]);
  });

  test('runs on the requested engine and reports it', () => {
    expect(listener.kind).toBe(kind === 'uws' ? 'uWebSockets.js' : 'node:http');
    expect(listener.fallbackReason).toBeUndefined();
    expect(listener.address.port).toBeGreaterThan(0);
  });

  describe('requests', () => {
    test('have method, raw path, raw query, joined headers, peer and port', async () => {
      const raw = await client();
      raw.write(get('/a%20b/../c?x=1&y=%20?z', 'X-A: 1\r\nx-a:  2 \r\nAuthorization: a\r\n__proto__: 3\r\n'));
      const response = JSON.parse((await raw.answer()).body.toString());
      expect(response).toMatchObject({ method: 'GET', path: '/a%20b/../c', query: 'x=1&y=%20?z', body: '' });
      expect(response.headers).toMatchObject({ host: 'a', 'x-a': '1, 2', authorization: 'a' });
      expect([response.remoteAddress, response.localPort]).toEqual(['127.0.0.1', listener.address.port]);
    });

    test.each([
      ['UTF-8', Buffer.from('a schlüssel, a key: 😀.')],
      ['Latin-1', Buffer.from('a schl\xfcssel', 'latin1')],
      ['half a character', Buffer.from('a\xe2\x82b', 'latin1')],
      ['a surrogate', Buffer.from('a\xed\xa0\x80b', 'latin1')],
    ])('have header values in UTF-8, here %s', async (_, value) => {
      const raw = await client();
      raw.write(get('/', `X-A: ${value.toString('latin1')}\r\n`));
      const response = JSON.parse((await raw.answer()).body.toString());
      expect(response.headers['x-a']).toBe(value.toString('utf8'));
    });

    test('may arrive byte by byte', async () => {
      const raw = await client();
      for (const piece of pieces(post('/slow', 'hello', 'X-B: c\r\n'))) {
        raw.write(piece);
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(JSON.parse((await raw.answer()).body.toString())).toMatchObject({
        path: '/slow',
        body: 'hello',
      });
    });

    test('may arrive in chunks', async () => {
      const raw = await client();
      raw.write(`${CHUNKED}3\r\nabc\r\n`);
      raw.write('5\r\ndef');
      raw.write('gh\r\n0\r\n\r\n');
      expect(JSON.parse((await raw.answer()).body.toString())).toMatchObject({ body: 'abcdefgh' });
    });

    test('have the same result, wherever their bytes are split', async () => {
      const whole = post('/cut?q', 'x'.repeat(50), 'X-C: d\r\n') + get('/after');
      await fc.assert(
        fc.asyncProperty(fc.uniqueArray(fc.nat(whole.length), { maxLength: 6 }), async (cuts) => {
          const raw = await client();
          for (const piece of pieces(whole, cuts)) {
            raw.write(piece);
            await new Promise((resolve) => setTimeout(resolve, 1));
          }
          expect(JSON.parse((await raw.answer()).body.toString())).toMatchObject({
            query: 'q',
            body: 'x'.repeat(50),
          });
          expect(JSON.parse((await raw.answer()).body.toString())).toMatchObject({
            path: '/after',
            body: '',
          });
          raw.destroy();
        }),
        { numRuns: 40 },
      );
    });

    test('split inside the version or after the method are accepted by node:http; uWebSockets.js returns 505', async () => {
      for (const [before, after] of [
        ['GET /v HTT', 'P/1.1\r\nHost: a\r\n\r\n'],
        ['GET ', '/v HTTP/1.1\r\nHost: a\r\n\r\n'],
      ] as const) {
        const raw = await client();
        raw.write(before);
        await new Promise((resolve) => setTimeout(resolve, 20));
        raw.write(after);
        expect((await raw.answer()).status).toBe(kind === 'uws' ? 505 : 200);
      }
    });

    test('are answered in order if they are pipelined and answered immediately', async () => {
      const raw = await client();
      raw.write(get('/1') + post('/2', 'two') + get('/3'));
      const paths = [];
      for (let n = 0; n < 3; n++) paths.push(JSON.parse((await raw.answer()).body.toString()).path);
      expect(paths).toEqual(['/1', '/2', '/3']);
    });

    test('pipelined after an open request are answered in order or close the connection, and are never mixed up', async () => {
      const aborts = vi.fn();
      await serveWith(kind, (request, reply) => {
        reply.onAbort(aborts);
        setTimeout(() => reply.send(200, TEXT, request.path), request.path === '/1' ? 50 : 0);
        return undefined;
      });
      const raw = await client();
      raw.write(get('/1') + get('/2'));
      if (kind === 'uws') {
        await raw.closed();
        expect(raw.text).toBe('');
        expect(aborts).toHaveBeenCalledTimes(1);
      } else {
        expect((await raw.answer()).body.toString()).toBe('/1');
        expect((await raw.answer()).body.toString()).toBe('/2');
      }
    });

    test('reuse their connection', async () => {
      const raw = await client();
      for (let n = 0; n < 200; n++) {
        raw.write(n % 2 === 0 ? get(`/${n}`) : post(`/${n}`, 'b'));
        expect(JSON.parse((await raw.answer()).body.toString()).path).toBe(`/${n}`);
      }
      expect(raw.isClosed).toBe(false);
    });

    test('with Expect: 100-continue receive the response 100 before the body is sent', async () => {
      const raw = await client();
      raw.write('POST /e HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n');
      expect((await raw.answer()).status).toBe(100);
      raw.write('ok');
      expect(JSON.parse((await raw.answer()).body.toString())).toMatchObject({ body: 'ok' });
    });

    test('of HTTP/1.0 get a response, even if the version is not supported', async () => {
      const raw = await client();
      raw.write('GET /old HTTP/1.0\r\nHost: a\r\n\r\n');
      expect((await raw.answer()).status).toBe(kind === 'uws' ? 505 : 200);
      await raw.closed();
    });

    test.each([
      ['two lengths that differ', 'Content-Length: 2\r\nContent-Length: 3\r\n\r\nab'],
      ['two lengths that agree', 'Content-Length: 2\r\nContent-Length: 2\r\n\r\nab'],
      ['a list of lengths', 'Content-Length: 2, 2\r\n\r\nab'],
      ['a length that is no number', 'Content-Length: +2\r\n\r\nab'],
      ['a length beyond all numbers', 'Content-Length: 99999999999999999999999\r\n\r\nab'],
      ['a coding other than chunked', 'Transfer-Encoding: gzip\r\n\r\nab'],
      ['chunked after another coding', 'Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n'],
      ['chunked twice', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
      ['a length and chunked', 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
      ['two hosts', 'Host: b\r\nContent-Length: 0\r\n\r\n'],
    ])('with %s get 400 and a closed connection', async (_, rest) => {
      const onProblem = vi.fn();
      await serveWith(kind, (request) => {
        onProblem(request.path);
        return echo;
      });
      const raw = await client();
      raw.write(`POST /bad HTTP/1.1\r\nHost: a\r\n${rest}`);
      const answer = await raw.answer();
      expect(answer.status).toBe(400);
      await raw.closed();
      expect(onProblem).not.toHaveBeenCalled();

      // The following bytes are not parsed as a request.
      const smuggler = await client();
      smuggler.write(`POST /bad HTTP/1.1\r\nHost: a\r\n${rest}${get('/smuggled')}`);
      await smuggler.closed();
      expect(smuggler.text).not.toContain(' 200 ');
      expect(onProblem).not.toHaveBeenCalled();
    });

    test('without a host get 400', async () => {
      const raw = await client();
      raw.write('GET / HTTP/1.1\r\nX: y\r\n\r\n');
      expect((await raw.answer()).status).toBe(400);
      await raw.closed();
    });

    test('with a broken chunk get 400, and their route is notified of the disconnect or not called', async () => {
      const raw = await client();
      raw.write(`${CHUNKED}zz\r\nabc\r\n0\r\n\r\n`);
      expect((await raw.answer()).status).toBe(400);
      await raw.closed();
    });

    test('in chunks with optional HTTP syntax are accepted whole or rejected before the route, and never left without a response', async () => {
      const bodies: string[] = [];
      await serveWith(kind, () => (request, body, reply) => {
        if (Buffer.isBuffer(body)) bodies.push(`${request.query} ${body}`);
        setTimeout(() => echo(request, body, reply), 20);
      });
      const cases = {
        trailers: '3\r\nabc\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n',
        extension: '3;a=b\r\nabc\r\n0\r\n\r\n',
        bare: '3;a\r\nabc\r\n0;a\r\n\r\n',
        quoted: '3;a="b;\\"c"\r\nabc\r\n0\r\n\r\n',
        last: '3\r\nabc\r\n0;a=b\r\n\r\n',
      };
      await Promise.all(
        Object.entries(cases).map(async ([name, rest]) => {
          const raw = await client();
          raw.write(CHUNKED.replace('/echo', `/echo?${name}`) + rest);
          const { status } = await raw.answer();
          if (kind === 'node') expect([name, status]).toEqual([name, 200]);
          if (status === 200) expect(bodies).toContain(`${name} abc`);
          else
            expect([name, status >= 400, bodies.filter((each) => each.startsWith(name))]).toEqual([
              name,
              true,
              [],
            ]);
        }),
      );
    });

    test('in chunks with late trailers are answered, and the following bytes are no request', async () => {
      const paths: string[] = [];
      await serveWith(kind, () => (request, body, reply) => {
        paths.push(`${request.method} ${request.path}`);
        setTimeout(() => echo(request, body, reply), 100);
      });
      for (const late of [
        'X-Sum: 1\r\n\r\n',
        `X${kind === 'uws' ? 'X' : ': y\r\n\r\n'}${get('/smuggled')}`,
      ]) {
        paths.length = 0;
        const raw = await client();
        raw.write(`${CHUNKED}3\r\nabc\r\n0\r\n`);
        await new Promise((resolve) => setTimeout(resolve, 20));
        raw.write(late);
        expect(JSON.parse((await raw.answer()).body.toString())).toMatchObject({ body: 'abc' });
        if (kind === 'node') continue;
        await raw.closed();
        expect(paths).toEqual(['POST /echo']);
      }
    });

    test.each([
      ['a blank before the size', ' 3\r\nabc\r\n0\r\n\r\n'],
      ['a tab before the size', '3\r\nabc\r\n\t2\r\nde\r\n0\r\n\r\n'],
      ['a blank before the last size', '3\r\nabc\r\n 0\r\n\r\n'],
      ['a blank after the size', '3 \r\nabc\r\n0\r\n\r\n'],
      ['bare line feeds', '3\nabc\r\n0\n\r\n'],
      ['no size', '\r\nabc\r\n0\r\n\r\n'],
      ['more bytes than its size', '3\r\nabcXX0\r\n\r\n'],
    ])(
      'in chunks with %s are rejected or marked as inexact, and their connection closes',
      async (_, rest) => {
        let isExact: boolean | undefined;
        const paths: string[] = [];
        await serveWith(kind, () => (request, body, reply) => {
          isExact = request.isBodyExact;
          paths.push(request.path);
          echo(request, body, reply);
        });
        const raw = await client();
        raw.write(CHUNKED + rest);
        const { status } = await raw.answer();
        expect(kind === 'node' ? status : isExact).toBe(kind === 'node' ? 400 : false);
        // Completes the rest in every parser state.
        raw.write(`\r\n\r\n${get('/smuggled')}`);
        await raw.closed();
        expect(paths).toEqual(kind === 'node' ? [] : ['/echo']);
      },
    );

    test('in chunks close their connection after any kind of response', async () => {
      if (kind === 'node') return;
      await serveWith(kind, () => (request, _body, reply) => {
        if (request.path === '/204') reply.send(204, []);
        else if (request.path === '/202') reply.send(202, []);
        else if (request.path === '/large') reply.send(200, TEXT, big.subarray(0, 300_000));
        else {
          const stream = reply.stream(200, TEXT);
          stream.write('one');
          setTimeout(() => stream.end(), 20);
        }
      });
      for (const path of ['/202', '/204', '/large', '/stream']) {
        const raw = await client();
        raw.write(`${CHUNKED.replace('/echo', path)}3\r\nabc\r\n0\r\n\r\n`);
        expect((await raw.answer()).headers.get('connection')).toEqual(['close']);
        raw.write(get('/after'));
        await new Promise((resolve) => setTimeout(resolve, 50));
        expect(raw.text).toBe('');
        raw.destroy();
      }
    });

    test('in chunks may have a slow response, sent as one body or as a stream', async () => {
      await serveWith(kind, () => (request, _body, reply) => {
        const stream = request.path === '/stream' ? reply.stream(200, TEXT) : undefined;
        stream?.write('first');
        // Exceeds the idle timeouts of uWebSockets.js.
        setTimeout(() => {
          stream?.write('last');
          if (stream === undefined) reply.send(200, TEXT, 'last');
          else stream.end();
        }, 13_500);
      });
      await Promise.all(
        ['/stream', '/at-once'].map(async (path) => {
          const raw = await client();
          raw.write(`${CHUNKED.replace('/echo', path)}3\r\nabc\r\n0\r\n\r\n`);
          expect((await raw.answer()).body.toString()).toContain('last');
        }),
      );
    });

    test('in chunks get their response queued like other requests', async () => {
      const readers = new Readers(50_000_000);
      await serveWith(kind, () => (_request, _body, reply) => reply.send(200, TEXT, big), undefined, readers);
      const raw = await client();
      raw.socket.pause();
      raw.write(`${CHUNKED}3\r\nabc\r\n0\r\n\r\n`);
      await vi.waitFor(() => expect(readers.waitingBytes).toBeGreaterThanOrEqual(big.length), EVENTUALLY);
      raw.destroy();
      await expectNoConnections();
      expect(readers.waitingBytes).toBe(0);
    });

    test('in chunks are aborted when the client disconnects before the response', async () => {
      const aborts = vi.fn();
      await serveWith(kind, () => (_request, _body, reply) => reply.onAbort(aborts));
      const raw = await client();
      raw.write(`${CHUNKED}3\r\nabc\r\n0\r\n\r\n`);
      await vi.waitFor(() => expect(listener.open).toBe(1), EVENTUALLY);
      raw.destroy();
      await expectNoConnections();
      expect(aborts).toHaveBeenCalledTimes(1);
    });

    test('may have 12 kB of headers in pieces, and get 431 for 40 kB', async () => {
      const raw = await client();
      raw.write(`GET /h HTTP/1.1\r\nHost: a\r\nX-Long: ${'a'.repeat(6_000)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
      raw.write(`${'b'.repeat(6_000)}\r\n\r\n`);
      expect(JSON.parse((await raw.answer()).body.toString()).headers['x-long']).toHaveLength(12_000);
      const greedy = await client();
      greedy.write(get('/h', `X-Long: ${'a'.repeat(40_000)}\r\n`));
      expect((await greedy.answer()).status).toBe(431);
      await greedy.closed();
    });
  });

  describe('bodies', () => {
    test('arrive unchanged up to the exact limit', async () => {
      const body = big.subarray(0, MAX_BODY_BYTES);
      const answer = await fetch(`http://127.0.0.1:${listener.address.port}/up`, { method: 'POST', body });
      expect(await answer.json()).toMatchObject({ body: sha(body) });
    });

    test('one byte above the limit are reported as a problem, with and without a length', async () => {
      const raw = await client();
      raw.write(`POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: ${MAX_BODY_BYTES + 1}\r\n\r\n`);
      raw.write(big.subarray(0, MAX_BODY_BYTES + 1));
      expect((await raw.answer()).status).toBe(413);
      // The whole body was read, so the connection is reusable.
      raw.write(get('/again'));
      expect((await raw.answer()).status).toBe(200);

      const chunked = await client();
      chunked.write(`${CHUNKED}${MAX_BODY_BYTES.toString(16)}\r\n`);
      chunked.write(big.subarray(0, MAX_BODY_BYTES));
      chunked.write('\r\n1\r\nx\r\n0\r\n\r\n');
      expect((await chunked.answer()).status).toBe(413);
    });

    test('far above the limit are discarded, and the client still reads the 413', async () => {
      for (let n = 0; n < 5; n++) {
        const answer = await fetch(`http://127.0.0.1:${listener.address.port}/up`, {
          method: 'POST',
          body: big,
        });
        expect(answer.status).toBe(413);
        expect(await answer.text()).toBe('too large');
      }
    });

    test('that no route reads do not lose an earlier response', async () => {
      await serveWith(kind, (_, reply) => {
        reply.send(401, TEXT, 'no key');
        expect(reply.isDone).toBe(true);
        return undefined;
      });
      const answer = await fetch(`http://127.0.0.1:${listener.address.port}/up`, {
        method: 'POST',
        body: big,
      });
      expect([answer.status, await answer.text()]).toEqual([401, 'no key']);
      const raw = await client();
      for (const text of ['a', 'b']) {
        raw.write(post('/', text));
        expect((await raw.answer()).status).toBe(401);
      }
    });

    test('that are announced but never sent delay the response only briefly, if no route reads them', async () => {
      await serveWith(kind, (_, reply) => {
        reply.send(404, TEXT, 'nothing here');
        return undefined;
      });
      const raw = await client();
      raw.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab');
      const answer = await raw.answer();
      expect(answer.status).toBe(404);
      expect(answer.headers.get('connection')).toEqual(['close']);
      await raw.closed();
    });

    test('that are too slow return 408 and close the connection', async () => {
      await serveWith(kind, () => echo, 200);
      const silent = await client();
      const startedAt = Date.now();
      silent.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n');
      const slow = await client();
      slow.write(`${CHUNKED}1\r\na\r\n`);
      for (const raw of [silent, slow]) {
        expect((await raw.answer()).status).toBe(408);
        await raw.closed();
      }
      // Without this limit Node would wait for minutes.
      expect(Date.now() - startedAt).toBeLessThan(15_000);
      expect(Date.now() - startedAt).toBeGreaterThanOrEqual(190);
    });
  });

  describe('responses', () => {
    test('have status, headers, Date and the correct length', async () => {
      await serveWith(kind, (_, reply) => {
        reply.send(
          404,
          [
            ['X-One', '1'],
            ['content-length', '999'],
            ['set-cookie', 'a'],
            ['set-cookie', 'b'],
          ],
          'schön',
        );
        return undefined;
      });
      const raw = await client();
      raw.write(get('/'));
      const { status, headers, body } = await raw.answer();
      expect([status, body.toString()]).toEqual([404, 'schön']);
      expect(headers.get('x-one')).toEqual(['1']);
      expect(headers.get('content-length')).toEqual(['6']);
      expect(headers.get('set-cookie')).toEqual(['a', 'b']);
      expect(Date.parse(headers.get('date')?.[0] ?? '')).toBeGreaterThan(Date.now() - 10_000);
      expect(headers.get('connection') ?? ['keep-alive']).toEqual(['keep-alive']);
    });

    test('without a body have length 0, and 204 has none', async () => {
      await serveWith(kind, (request, reply) => {
        reply.send(request.path === '/204' ? 204 : 202, []);
        return undefined;
      });
      const raw = await client();
      raw.write(get('/202'));
      expect((await raw.answer()).headers.get('content-length')).toEqual(['0']);
      raw.write(get('/204'));
      const answer = await raw.answer();
      expect([answer.status, answer.headers.get('content-length')]).toEqual([204, undefined]);
      raw.write(get('/202'));
      expect((await raw.answer()).status).toBe(202);
    });

    test('to HEAD have the headers of GET, no body, and leave the connection usable', async () => {
      const raw = await client();
      raw.write('HEAD /h HTTP/1.1\r\nHost: a\r\n\r\n');
      const head = await raw.answer({ hasBody: false });
      expect(head.status).toBe(200);
      raw.write(get('/h'));
      const whole = await raw.answer();
      expect(Number(head.headers.get('content-length')?.[0])).toBe(whole.body.length + 1);
      raw.write('HEAD /h HTTP/1.1\r\nHost: a\r\n\r\n');
      expect((await raw.answer({ hasBody: false })).status).toBe(200);
    });

    test('streamed to HEAD are complete after the headers', async () => {
      let stream: HttpStream | undefined;
      await serveWith(kind, () => (_, __, reply) => {
        stream = reply.stream(200, TEXT);
        expect(stream.write('never seen')).toBe(true);
        stream.end();
      });
      const raw = await client();
      raw.write('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n');
      expect((await raw.answer({ hasBody: false })).status).toBe(200);
      expect(stream?.isDone).toBe(true);
      raw.write('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n');
      expect((await raw.answer({ hasBody: false })).status).toBe(200);
      expect(raw.text).toBe('');
      expect(faults).toEqual([]);
    });

    test('close the connection if the route or the client requests it', async () => {
      await serveWith(kind, (request, reply) => {
        const close = request.path === '/drain' ? ([['Connection', 'Close']] as const) : [];
        setTimeout(() => reply.send(503, close, 'x'.repeat(request.query === 'big' ? 300_000 : 3)), 5);
        return undefined;
      });
      for (const path of ['/drain', '/drain?big', '/client']) {
        const raw = await client();
        raw.write(get(path, path === '/client' ? 'Connection: close\r\n' : ''));
        const answer = await raw.answer();
        expect(answer.body.length).toBe(path.endsWith('big') ? 300_000 : 3);
        if (path !== '/client')
          expect(answer.headers.get('connection')?.map((v) => v.toLowerCase())).toEqual(['close']);
        await raw.closed();
      }
    });

    test.each([
      ['a value with a line end', 'x-a', 'b\r\nset-cookie: evil'],
      ['a value with a bare line feed', 'x-a', 'b\nevil: 1'],
      ['a value with a zero byte', 'x-a', 'b\0c'],
      ['a value beyond ASCII', 'x-a', '\u010d\u010a'],
      ['a name with a colon and line end', 'x-a: 1\r\nevil', 'b'],
      ['an empty name', '', 'b'],
    ])('reject %s, and the request still gets a response', async (_, name, value) => {
      let thrown: unknown;
      await serveWith(kind, (_request, reply) => {
        for (const answer of [
          () => reply.send(200, [[name, value]]),
          () => reply.stream(200, [[name, value]]),
        ]) {
          try {
            answer();
          } catch (error) {
            thrown = error;
          }
          expect(thrown).toBeInstanceOf(TypeError);
          expect(String(thrown)).not.toContain('evil: 1');
        }
        reply.send(502, TEXT, 'bad header');
        return undefined;
      });
      const raw = await client();
      raw.write(get('/'));
      const answer = await raw.answer();
      expect([answer.status, answer.body.toString(), answer.headers.has('set-cookie')]).toEqual([
        502,
        'bad header',
        false,
      ]);
    });

    test('are sent once if the handler sends twice', async () => {
      await serveWith(kind, (_, reply) => {
        reply.send(200, TEXT, 'first');
        reply.send(500, TEXT, 'second');
        return undefined;
      });
      const raw = await client();
      raw.write(get('/') + get('/'));
      expect((await raw.answer()).body.toString()).toBe('first');
      expect((await raw.answer()).body.toString()).toBe('first');
      expect(raw.text).toBe('');
    });

    test('of a handler that throws are 500, and the error is reported', async () => {
      await serveWith(kind, (request) => {
        if (request.path === '/head') throw new Error('in head');
        return () => {
          throw new Error('in body');
        };
      });
      const raw = await client();
      for (const request of [get('/head'), post('/head', 'abc'), get('/body'), post('/body', 'abc')]) {
        raw.write(request);
        const answer = await raw.answer();
        expect(answer.status).toBe(500);
        expect(answer.body.toString()).not.toContain('in ');
      }
      expect(faults.map(String)).toEqual([
        'Error: in head',
        'Error: in head',
        'Error: in body',
        'Error: in body',
      ]);
    });

    test('that clients do not read are buffered while there is capacity, then a client is cut off', async () => {
      const readers = new Readers(50_000_000);
      let count = 0;
      const handler: RequestHandler = (_, reply) => {
        count += 1;
        // Copies, because a buffer that several responses share counts once.
        reply.send(200, TEXT, Buffer.from(big));
        return undefined;
      };
      await serveWith(kind, handler, undefined, readers);
      const unread = () => {
        const socket = connect(listener.address.port, '127.0.0.1').on('error', () => {});
        socket.pause();
        socket.write(get('/').replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
        let received = 0;
        socket.on('data', (chunk) => {
          received += chunk.length;
        });
        socket.pause();
        const closed = new Promise<boolean>((done) => socket.on('close', () => done(received >= big.length)));
        return { socket, closed };
      };
      const all = [unread(), unread()];
      await vi.waitFor(() => expect(readers.waitingBytes).toBeGreaterThan(40_000_000), EVENTUALLY);
      all.push(unread());
      await vi.waitFor(() => expect(count).toBe(3), EVENTUALLY);
      expect(readers.waitingBytes).toBeLessThan(50_000_000);
      for (const { socket } of all) socket.resume();
      // The last client, or the first if a slow machine made it look stalled.
      const areWhole = await Promise.all(all.map(({ closed }) => closed));
      expect(areWhole.filter(Boolean)).toHaveLength(2);
      await expectNoConnections();
      expect(readers.waitingBytes).toBe(0);
    });

    test('of 5 and 20 MB reach a slow reader unchanged', async () => {
      await serveWith(kind, (request, reply) => {
        reply.send(200, TEXT, request.path === '/5' ? big.subarray(0, 5_000_000) : big);
        expect(reply.isDone).toBe(true);
        return undefined;
      });
      for (const [path, length] of [
        ['/5', 5_000_000],
        ['/20', 20_000_000],
      ] as const) {
        const { body, pauses } = await readSlowly(path);
        expect(body.length).toBe(length);
        expect(sha(body)).toBe(sha(big.subarray(0, length)));
        expect(pauses).toBeGreaterThan(3);
        await expectNoConnections();
      }
    });

    test('in pieces of any size arrive and count as one body', async () => {
      const cuts = [1, 30, 70_000, 70_001, 3_000_000, 5_000_000];
      const pieces = cuts.map((cut, at) => big.subarray(cuts[at - 1] ?? 0, cut));
      await serveWith(kind, (_, reply) => {
        reply.send(200, TEXT, pieces);
        return undefined;
      });
      const { body } = await readSlowly('/');
      expect(sha(body)).toBe(sha(big.subarray(0, 5_000_000)));
      const raw = await client();
      raw.write(get('/').replace('GET', 'HEAD'));
      expect((await raw.answer({ hasBody: false })).headers.get('content-length')).toEqual(['5000000']);
    });

    test('leave the connection usable after a large body', async () => {
      await serveWith(kind, (_, reply) => {
        reply.send(200, TEXT, big.toString('latin1', 0, 3_000_000));
        return undefined;
      });
      const raw = await client();
      for (let n = 0; n < 3; n++) {
        raw.write(get('/'));
        const { body } = await raw.answer();
        expect(sha(body)).toBe(sha(Buffer.from(big.toString('latin1', 0, 3_000_000))));
      }
    });
  });

  describe('streams', () => {
    test('send chunks as they are written, and leave the connection usable afterwards', async () => {
      let stream: HttpStream | undefined;
      await serveWith(kind, () => (_, __, reply) => {
        stream = reply.stream(200, [['content-type', 'text/event-stream']]);
        stream.write(': hello\n\n');
      });
      const raw = await client();
      for (let round = 0; round < 2; round++) {
        raw.write(get('/events'));
        await raw.until(() => raw.text.includes(': hello\n\n') || undefined, 'the first chunk');
        expect(stream?.write(Buffer.from('data: 1\n\n'))).toBe(true);
        await raw.until(() => raw.text.includes('data: 1\n\n') || undefined, 'the second chunk');
        expect(listener.open).toBe(1);
        stream?.write('');
        stream?.end();
        expect(stream?.isDone).toBe(true);
        stream?.write('too late');
        const answer = await raw.answer();
        expect(answer.body.toString()).toBe(': hello\n\ndata: 1\n\n');
        expect(answer.headers.get('content-type')).toEqual(['text/event-stream']);
      }
      await expectNoConnections();
    });

    test('may close the connection, which adds no byte to the body', async () => {
      await serveWith(kind, () => (_, __, reply) => {
        const stream = reply.stream(200, [['connection', 'close']]);
        stream.write('one');
        setTimeout(() => stream.end(), 20);
      });
      const raw = await client();
      raw.write(get('/'));
      const answer = await raw.answer();
      expect(answer.body.toString()).toBe('one');
      expect(answer.headers.get('connection')).toEqual(['close']);
    });

    test('of 20 MB pause for a slow reader, count the buffered bytes, and arrive unchanged', async () => {
      let peak = 0;
      let drains = 0;
      let isHonest = true;
      await serveWith(kind, () => (_, __, reply) => {
        const stream = reply.stream(200, TEXT);
        let at = 0;
        const pump = (): void => {
          while (at < big.length) {
            // Pieces of many sizes, also larger than a single write of the engine.
            const piece = big.subarray(at, at + 1 + ((at * 7) % 200_000));
            at += piece.length;
            const isTaken = stream.write(piece);
            peak = Math.max(peak, stream.bufferedBytes);
            if (!isTaken) {
              isHonest &&= stream.bufferedBytes > 0;
              return;
            }
          }
          stream.end();
        };
        stream.onDrain(() => {
          drains += 1;
          isHonest &&= stream.bufferedBytes === 0;
          pump();
        });
        pump();
      });
      const { body, pauses } = await readSlowly('/');
      expect(sha(body)).toBe(sha(big));
      expect(pauses).toBeGreaterThan(10);
      expect(drains).toBeGreaterThan(3);
      expect(peak).toBeLessThan(500_000);
      expect(isHonest).toBe(true);
      await expectNoConnections();
    });

    test('written without pauses keep all bytes, report the buffered amount, and flush it after the last write', async () => {
      let bufferedBytes = 0;
      await serveWith(kind, () => (_, __, reply) => {
        const stream = reply.stream(200, TEXT);
        for (let at = 0; at < big.length; at += 1_000_000) stream.write(big.subarray(at, at + 1_000_000));
        bufferedBytes = stream.bufferedBytes;
        stream.end();
      });
      const { body } = await readSlowly('/');
      expect(bufferedBytes).toBeGreaterThan(5_000_000);
      expect(sha(body)).toBe(sha(big));
      await expectNoConnections();
    });

    test('cut by the gateway look broken to the client, without a disconnect event', async () => {
      const aborts = vi.fn();
      await serveWith(kind, () => (_, __, reply) => {
        reply.onAbort(aborts);
        const stream = reply.stream(200, TEXT);
        stream.write('half');
        setTimeout(() => {
          stream.destroy();
          stream.destroy();
          stream.write('x');
          stream.end();
        }, 20);
      });
      const raw = await client();
      raw.write(get('/'));
      await raw.closed();
      expect(raw.text).toContain('half');
      expect(raw.text).not.toMatch(/\r\n0\r\n\r\n$/);
      await expectNoConnections();
      expect(aborts).not.toHaveBeenCalled();
    });

    test('are cut when their listener throws', async () => {
      await serveWith(kind, () => (_, __, reply) => {
        const stream = reply.stream(200, TEXT);
        stream.onDrain(() => {
          throw new Error('in drain');
        });
        while (stream.write(big.subarray(0, 1_000_000)));
      });
      const raw = await client();
      raw.write(get('/'));
      await raw.closed();
      expect(faults.map(String)).toEqual(['Error: in drain']);
      await expectNoConnections();
    });
  });

  describe('clients that disconnect', () => {
    test.each([
      ['during the body', false, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc'],
      ['before the answer', true, get('/')],
      ['before the answer to a body', true, post('/', 'abc')],
    ])('%s are reported once, and later writes are harmless', async (_, isBodyDue, bytes) => {
      const aborts = vi.fn();
      const bodies = vi.fn();
      const replies: HttpReply[] = [];
      await serveWith(kind, (_request, reply) => {
        reply.onAbort(aborts);
        replies.push(reply);
        return bodies;
      });
      for (const leave of ['destroy', 'reset'] as const) {
        const raw = await client();
        raw.write(bytes);
        await vi.waitFor(() => expect(listener.open).toBe(1), EVENTUALLY);
        raw[leave]();
        await expectNoConnections();
        const reply = replies.at(-1);
        expect(reply?.isDone).toBe(true);
        reply?.send(200, TEXT, 'late');
        const stream = reply?.stream(200, TEXT);
        stream?.write('later');
        stream?.end();
        expect(stream?.isDone).toBe(true);
      }
      expect(aborts).toHaveBeenCalledTimes(2);
      expect(bodies).toHaveBeenCalledTimes(isBodyDue ? 2 : 0);
      expect(faults).toEqual([]);
    });

    test('during a stream are reported once, with backpressure and without', async () => {
      const aborts = vi.fn();
      const streams: HttpStream[] = [];
      await serveWith(kind, () => (request, _, reply) => {
        reply.onAbort(aborts);
        const stream = reply.stream(200, TEXT);
        streams.push(stream);
        stream.write(request.path === '/much' ? big : 'little');
      });
      for (const path of ['/little', '/much']) {
        const raw = await client();
        raw.write(get(path));
        await raw.until(() => raw.text.length > 10 || undefined, 'a beginning');
        raw.destroy();
        await expectNoConnections();
        const stream = streams.at(-1);
        expect(stream?.isDone).toBe(true);
        stream?.write('late');
        stream?.end();
        expect(stream?.bufferedBytes).toBe(0);
      }
      expect(aborts).toHaveBeenCalledTimes(2);
    });

    test('during a large response leave no connection open, and onAbort is not called, because the route has finished', async () => {
      const aborts = vi.fn();
      await serveWith(kind, (_, reply) => {
        reply.onAbort(aborts);
        reply.send(200, TEXT, big);
        return undefined;
      });
      const raw = await client();
      raw.socket.pause();
      raw.write(get('/'));
      await vi.waitFor(() => expect(listener.open).toBe(1), EVENTUALLY);
      raw.destroy();
      await expectNoConnections();
      expect(aborts).not.toHaveBeenCalled();
    });

    test('by the thousand, at any moment, leave nothing open', async () => {
      let startCount = 0;
      let endCount = 0;
      await serveWith(
        kind,
        (request, reply) => {
          startCount += 1;
          reply.onAbort(() => {
            endCount += 1;
          });
          if (request.path === '/refused') {
            endCount += 1;
            reply.send(401, TEXT, 'no');
            return undefined;
          }
          return (_, body, answer) => {
            const finish = (): void => {
              if (answer.isDone) return;
              if (request.path === '/stream') {
                const stream = answer.stream(200, TEXT);
                stream.write(big.subarray(0, 500_000));
                setTimeout(() => {
                  if (!stream.isDone) endCount += 1;
                  stream.end();
                }, 3);
              } else {
                endCount += 1;
                answer.send(200, TEXT, typeof body === 'string' ? body : big.subarray(0, 200_000));
              }
            };
            if (request.query === 'later') setTimeout(finish, 2);
            else finish();
          };
        },
        1_000,
      );
      const requests = ['/refused', '/stream', '/stream?later', '/x', '/x?later'].flatMap((path) => [
        get(path),
        post(path, 'y'.repeat(2_000)),
        `POST ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`,
      ]);
      const drop = fc.record({
        bytes: fc.constantFrom(...requests),
        cut: fc.double({ min: 0, max: 1, noNaN: true }),
        isWhole: fc.boolean(),
        wait: fc.nat(8),
        isReset: fc.boolean(),
      });
      const drops = fc.sample(drop, { numRuns: 1_000, seed: 20_26 });
      for (let at = 0; at < drops.length; at += 50) {
        await Promise.all(
          drops.slice(at, at + 50).map(async ({ bytes, cut, isWhole, wait, isReset }) => {
            const socket = connect(listener.address.port, '127.0.0.1');
            socket.on('error', () => {});
            await new Promise((resolve) => socket.once('connect', resolve));
            socket.write(isWhole ? bytes : bytes.slice(0, Math.ceil(bytes.length * cut)));
            await new Promise((resolve) => setTimeout(resolve, wait));
            if (isReset) socket.resetAndDestroy();
            else socket.destroy();
          }),
        );
      }
      await expectNoConnections();
      // The number that reaches the handler depends on timing; some hundreds are usual.
      expect(startCount).toBeGreaterThan(50);
      expect(endCount).toBe(startCount);
      expect(faults).toEqual([]);
      const raw = await client();
      raw.write(get('/x'));
      expect((await raw.answer()).status).toBe(200);
    });
  });

  describe('the listener', () => {
    test('rejects a port in use, naming the address', async () => {
      const { port } = listener.address;
      const second = listen({
        host: '127.0.0.1',
        port,
        maxBodyBytes: 1,
        handler: () => undefined,
        prefer: kind,
      });
      await expect(second).rejects.toThrow(AlreadyInUseError);
      await expect(second).rejects.toThrow(`address 127.0.0.1:${port} is in use`);
      const raw = await client();
      raw.write(get('/still'));
      expect((await raw.answer()).status).toBe(200);
    });

    test('cannot be opened on a port that another program uses', async () => {
      const other = createServer().listen(0, '127.0.0.1');
      await new Promise((resolve) => other.once('listening', resolve));
      const { port } = other.address() as AddressInfo;
      const opening = listen({
        host: '127.0.0.1',
        port,
        maxBodyBytes: 1,
        handler: () => undefined,
        prefer: kind,
      });
      await expect(opening).rejects.toThrow(AlreadyInUseError);
      await new Promise((resolve) => other.close(resolve));
    });

    test('rejects a foreign address, naming it', async () => {
      const opening = listen({
        host: '203.0.113.1',
        port: 8080,
        maxBodyBytes: 1,
        handler: () => undefined,
        prefer: kind,
      });
      await expect(opening).rejects.toThrow(/203\.0\.113\.1:8080/);
      await expect(opening).rejects.not.toThrow(AlreadyInUseError);
    });

    test('rejects an invalid host, naming it', async () => {
      const opening = listen({
        host: 'no such host',
        port: 1,
        maxBodyBytes: 1,
        handler: () => undefined,
        prefer: kind,
      });
      await expect(opening).rejects.toThrow('no such host:1');
    });

    test('listens on IPv6', async () => {
      const six = await listen({ host: '::1', port: 0, maxBodyBytes: 10, handler: () => echo, prefer: kind });
      const answer = await fetch(`http://[::1]:${six.address.port}/six`);
      expect(await answer.json()).toMatchObject({ path: '/six' });
      six.close();
    });

    test('accepts no connection after stopListening, and serves open connections', async () => {
      await serveWith(kind, () => (request, body, reply) => {
        setTimeout(() => echo(request, body, reply), 50);
      });
      const raw = await client();
      raw.write(post('/drain', 'abc'));
      await vi.waitFor(() => expect(listener.open).toBe(1), EVENTUALLY);
      listener.stopListening();
      listener.stopListening();
      await expect(RawClient.connect(listener.address.port)).rejects.toThrow('ECONNREFUSED');
      expect(JSON.parse((await raw.answer()).body.toString())).toMatchObject({ body: 'abc' });
      expect(listener.open).toBe(0);
    });

    test('closes all connections when it is closed, and notifies the routes', async () => {
      const aborts = vi.fn();
      await serveWith(kind, () => (request, _, reply) => {
        reply.onAbort(aborts);
        if (request.path === '/stream') reply.stream(200, TEXT).write('x');
      });
      const raws = [await client(), await client(), await client()];
      for (const [n, raw] of raws.entries()) raw.write(get(['/stream', '/call', '/call'][n] ?? '/'));
      await vi.waitFor(() => expect(listener.open).toBe(3), EVENTUALLY);
      listener.close();
      listener.close();
      for (const raw of raws) await raw.closed();
      await expectNoConnections();
      expect(aborts).toHaveBeenCalledTimes(3);
    });
  });

  /** Splits a text at the given positions, or everywhere except where uWebSockets.js cannot (see above). */
  function pieces(whole: string, cuts: readonly number[] = Array.from(whole, (_, at) => at)): string[] {
    const isAllowed = (at: number): boolean =>
      kind === 'node' || !/(?:^|\n|x)[A-Z]+ (?:\S+ [HTP/1.\r]*)?$/.test(whole.slice(0, at));
    const positions = [...cuts]
      .sort((a, b) => a - b)
      .filter((at) => at > 0 && at < whole.length && isAllowed(at));
    return [0, ...positions].map((from, n) => whole.slice(from, positions[n] ?? whole.length));
  }

  /** Reads a response with pauses long enough to fill the buffers of the server. */
  async function readSlowly(path: string): Promise<{ body: Buffer; pauses: number }> {
    const socket = connect({ port: listener.address.port, host: '127.0.0.1' });
    const pieces: Buffer[] = [];
    let sinceRest = 0;
    let pauses = 0;
    socket.on('data', (bytes) => {
      pieces.push(bytes);
      sinceRest += bytes.length;
      if (sinceRest < 1_000_000) return;
      sinceRest = 0;
      pauses += 1;
      socket.pause();
      setTimeout(() => socket.resume(), 10);
    });
    socket.write(get(path, 'Connection: close\r\n'));
    await new Promise((resolve, reject) => {
      socket.once('close', resolve);
      socket.once('error', reject);
    });
    const whole = Buffer.concat(pieces);
    const raw = whole.subarray(whole.indexOf('\r\n\r\n') + 4);
    const isChunked = /transfer-encoding: chunked/i.test(whole.toString('latin1', 0, 1_000));
    return { body: isChunked ? unchunk(raw) : raw, pauses };
  }
});

function unchunk(raw: Buffer): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = raw.indexOf('\r\n', at);
    const size = Number.parseInt(raw.toString('latin1', at, lineEnd), 16);
    if (!(size > 0)) return Buffer.concat(pieces);
    pieces.push(raw.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}

describe('the selection of the engine', () => {
  test('uses GATEWAY_HTTP if the caller has no preference', async () => {
    vi.stubEnv('GATEWAY_HTTP', 'node');
    const occupied = await listen({ host: '127.0.0.1', port: 0, maxBodyBytes: 1, handler: () => undefined });
    expect(occupied.kind).toBe('node:http');
    occupied.close();
    vi.unstubAllEnvs();
  });

  test('falls back to node:http with the reason if the addon does not load', async () => {
    vi.doMock('uWebSockets.js', () => {
      throw new Error('This version supports only Node.js 18 to 22\nand more');
    });
    const occupied = await listen({
      host: '127.0.0.1',
      port: 0,
      maxBodyBytes: 1,
      handler: () => undefined,
      prefer: 'uws',
    });
    vi.doUnmock('uWebSockets.js');
    expect(occupied.kind).toBe('node:http');
    expect(occupied.fallbackReason).toMatch(/uWebSockets\.js does not load here/);
    occupied.close();
  });
});
