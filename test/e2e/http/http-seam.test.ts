// Both fillings of the HTTP seam, by real sockets: every case runs on uWebSockets.js and on node:http, so that the
// routes above may forget which one they stand on. Where the two differ by nature the test says so.

import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AlreadyHeldError } from '../../../actors/base/errors/errors.ts';
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
import { fillings } from '../../fixtures/gateway/fillings.ts';

const MAX_BODY_BYTES = 1_000_000;
/** What comes at once may be long in coming on a busy machine. */
const AT_LAST = { timeout: 40_000, interval: 10 };
const TEXT = [['content-type', 'text/plain']] as const;

/** 20 MB in which no two stretches are alike, so that a lost, doubled or swapped piece shows. */
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
  const made = await RawClient.connect(listener.address.port);
  clients.push(made);
  return made;
}

function get(path: string, more = ''): string {
  return `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
}

function post(path: string, body: string, more = ''): string {
  return `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n${more}\r\n${body}`;
}

const CHUNKED = 'POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';

/** Tells what came: the request as the routes see it, or the problem with its body. */
function echo(request: HttpRequest, body: Buffer | BodyProblem, reply: HttpReply): void {
  if (body === 'too_large') reply.send(413, TEXT, 'too large');
  else if (body === 'no_room') reply.send(503, TEXT, 'no room');
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

async function settled(): Promise<void> {
  await vi.waitFor(() => expect(listener.open).toBe(0), AT_LAST);
}

describe.each(fillings)('the HTTP seam on %s', (kind) => {
  beforeEach(async () => {
    faults = [];
    await serveWith(kind, () => echo);
  });

  afterEach(async () => {
    for (const made of clients) made.destroy();
    clients = [];
    listener.close();
    await settled();
    expect(unhandled).not.toHaveBeenCalled();
    // uWebSockets.js warns of writes outside a cork, node of leaking listeners.
    expect(warnings).toEqual([]);
  });

  test('runs on the filling that was asked for, and says so', () => {
    expect(listener.kind).toBe(kind === 'uws' ? 'uWebSockets.js' : 'node:http');
    expect(listener.fallbackReason).toBeUndefined();
    expect(listener.address.port).toBeGreaterThan(0);
  });

  describe('requests', () => {
    test('show their method, raw path, raw query, joined headers, peer and port', async () => {
      const raw = await client();
      raw.write(get('/a%20b/../c?x=1&y=%20?z', 'X-A: 1\r\nx-a:  2 \r\nAuthorization: a\r\n__proto__: 3\r\n'));
      const told = JSON.parse((await raw.answer()).body.toString());
      expect(told).toMatchObject({ method: 'GET', path: '/a%20b/../c', query: 'x=1&y=%20?z', body: '' });
      expect(told.headers).toMatchObject({ host: 'a', 'x-a': '1, 2', authorization: 'a' });
      expect([told.remoteAddress, told.localPort]).toEqual(['127.0.0.1', listener.address.port]);
    });

    test.each([
      ['UTF-8', Buffer.from('a schlüssel, a key: 😀.')],
      ['Latin-1', Buffer.from('a schl\xfcssel', 'latin1')],
      ['half a character', Buffer.from('a\xe2\x82b', 'latin1')],
      ['a surrogate', Buffer.from('a\xed\xa0\x80b', 'latin1')],
    ])('show the value of a header as UTF-8, here %s', async (_, value) => {
      const raw = await client();
      raw.write(get('/', `X-A: ${value.toString('latin1')}\r\n`));
      const told = JSON.parse((await raw.answer()).body.toString());
      expect(told.headers['x-a']).toBe(value.toString('utf8'));
    });

    test('may come byte by byte', async () => {
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

    test('may come in chunks', async () => {
      const raw = await client();
      raw.write(`${CHUNKED}3\r\nabc\r\n`);
      raw.write('5\r\ndef');
      raw.write('gh\r\n0\r\n\r\n');
      expect(JSON.parse((await raw.answer()).body.toString())).toMatchObject({ body: 'abcdefgh' });
    });

    test('cut anywhere arrive the same', async () => {
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

    test('cut inside the version or after the method are taken by node:http; uWebSockets.js answers 505', async () => {
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

    test('are answered in order when they are pipelined and the answers come at once', async () => {
      const raw = await client();
      raw.write(get('/1') + post('/2', 'two') + get('/3'));
      const paths = [];
      for (let n = 0; n < 3; n++) paths.push(JSON.parse((await raw.answer()).body.toString()).path);
      expect(paths).toEqual(['/1', '/2', '/3']);
    });

    test('pipelined behind one not yet answered are answered in order, or end the connection, never mix', async () => {
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

    test('that announce Expect: 100-continue are told to go on', async () => {
      const raw = await client();
      raw.write('POST /e HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n');
      expect((await raw.answer()).status).toBe(100);
      raw.write('ok');
      expect(JSON.parse((await raw.answer()).body.toString())).toMatchObject({ body: 'ok' });
    });

    test('of HTTP/1.0 get an answer, even if it is that the version is not served', async () => {
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
    ])('with %s get 400 and the end of their connection', async (_, rest) => {
      const seen = vi.fn();
      await serveWith(kind, (request) => {
        seen(request.path);
        return echo;
      });
      const raw = await client();
      raw.write(`POST /bad HTTP/1.1\r\nHost: a\r\n${rest}`);
      const answer = await raw.answer();
      expect(answer.status).toBe(400);
      await raw.closed();
      expect(seen).not.toHaveBeenCalled();

      // And what follows is never taken for a request of its own.
      const smuggler = await client();
      smuggler.write(`POST /bad HTTP/1.1\r\nHost: a\r\n${rest}${get('/smuggled')}`);
      await smuggler.closed();
      expect(smuggler.text).not.toContain(' 200 ');
      expect(seen).not.toHaveBeenCalled();
    });

    test('without a host get 400', async () => {
      const raw = await client();
      raw.write('GET / HTTP/1.1\r\nX: y\r\n\r\n');
      expect((await raw.answer()).status).toBe(400);
      await raw.closed();
    });

    test('with a broken chunk get 400, and their route is told that the client has gone, or nothing (UC1)', async () => {
      const raw = await client();
      raw.write(`${CHUNKED}zz\r\nabc\r\n0\r\n\r\n`);
      expect((await raw.answer()).status).toBe(400);
      await raw.closed();
    });

    test('in chunks with what HTTP allows besides are taken whole or refused unseen, and never left without an answer (UC3)', async () => {
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

    test('in chunks whose trailers come late are answered, and what follows them is no request', async () => {
      const seen: string[] = [];
      await serveWith(kind, () => (request, body, reply) => {
        seen.push(`${request.method} ${request.path}`);
        setTimeout(() => echo(request, body, reply), 100);
      });
      for (const late of [
        'X-Sum: 1\r\n\r\n',
        `X${kind === 'uws' ? 'X' : ': y\r\n\r\n'}${get('/smuggled')}`,
      ]) {
        seen.length = 0;
        const raw = await client();
        raw.write(`${CHUNKED}3\r\nabc\r\n0\r\n`);
        await new Promise((resolve) => setTimeout(resolve, 20));
        raw.write(late);
        expect(JSON.parse((await raw.answer()).body.toString())).toMatchObject({ body: 'abc' });
        if (kind === 'node') continue;
        await raw.closed();
        expect(seen).toEqual(['POST /echo']);
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
      'in chunks with %s are refused, or say that their body proves nothing; their connection ends',
      async (_, rest) => {
        let isExact: boolean | undefined;
        const seen: string[] = [];
        await serveWith(kind, () => (request, body, reply) => {
          isExact = request.isBodyExact;
          seen.push(request.path);
          echo(request, body, reply);
        });
        const raw = await client();
        raw.write(CHUNKED + rest);
        const { status } = await raw.answer();
        expect(kind === 'node' ? status : isExact).toBe(kind === 'node' ? 400 : false);
        // Whatever the parser makes of the rest.
        raw.write(`\r\n\r\n${get('/smuggled')}`);
        await raw.closed();
        expect(seen).toEqual(kind === 'node' ? [] : ['/echo']);
      },
    );

    test('in chunks end their connection with any kind of answer (UC2)', async () => {
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

    test('in chunks may be long in being answered, at once or bit by bit (UC4)', async () => {
      await serveWith(kind, () => (request, _body, reply) => {
        const stream = request.path === '/stream' ? reply.stream(200, TEXT) : undefined;
        stream?.write('first');
        // Longer than any time that uWebSockets.js gives a silent connection.
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

    test('in chunks get an answer that waits for them where the others wait', async () => {
      const readers = new Readers(50_000_000);
      await serveWith(kind, () => (_request, _body, reply) => reply.send(200, TEXT, big), undefined, readers);
      const raw = await client();
      raw.socket.pause();
      raw.write(`${CHUNKED}3\r\nabc\r\n0\r\n\r\n`);
      await vi.waitFor(() => expect(readers.waitingBytes).toBeGreaterThanOrEqual(big.length), AT_LAST);
      raw.destroy();
      await settled();
      expect(readers.waitingBytes).toBe(0);
    });

    test('in chunks are ended when their client goes away while the answer is made', async () => {
      const aborts = vi.fn();
      await serveWith(kind, () => (_request, _body, reply) => reply.onAbort(aborts));
      const raw = await client();
      raw.write(`${CHUNKED}3\r\nabc\r\n0\r\n\r\n`);
      await vi.waitFor(() => expect(listener.open).toBe(1), AT_LAST);
      raw.destroy();
      await settled();
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
    test('arrive byte for byte up to the very limit', async () => {
      const body = big.subarray(0, MAX_BODY_BYTES);
      const answer = await fetch(`http://127.0.0.1:${listener.address.port}/up`, { method: 'POST', body });
      expect(await answer.json()).toMatchObject({ body: sha(body) });
    });

    test('one byte past the limit become a problem, with a length and without (HS3)', async () => {
      const raw = await client();
      raw.write(`POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: ${MAX_BODY_BYTES + 1}\r\n\r\n`);
      raw.write(big.subarray(0, MAX_BODY_BYTES + 1));
      expect((await raw.answer()).status).toBe(413);
      // The body was read to its end, so the connection is good for more.
      raw.write(get('/again'));
      expect((await raw.answer()).status).toBe(200);

      const chunked = await client();
      chunked.write(`${CHUNKED}${MAX_BODY_BYTES.toString(16)}\r\n`);
      chunked.write(big.subarray(0, MAX_BODY_BYTES));
      chunked.write('\r\n1\r\nx\r\n0\r\n\r\n');
      expect((await chunked.answer()).status).toBe(413);
    });

    test('far past the limit are thrown away, and the client still reads its 413', async () => {
      for (let n = 0; n < 5; n++) {
        const answer = await fetch(`http://127.0.0.1:${listener.address.port}/up`, {
          method: 'POST',
          body: big,
        });
        expect(answer.status).toBe(413);
        expect(await answer.text()).toBe('too large');
      }
    });

    test('that nobody waits for do not lose the answer given before them', async () => {
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

    test('that are announced, unwanted and never sent hold their answer back for a moment only', async () => {
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

    test('that do not come in time become 408 and the end of the connection', async () => {
      await serveWith(kind, () => echo, 200);
      const silent = await client();
      const begun = Date.now();
      silent.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n');
      const slow = await client();
      slow.write(`${CHUNKED}1\r\na\r\n`);
      for (const raw of [silent, slow]) {
        expect((await raw.answer()).status).toBe(408);
        await raw.closed();
      }
      // Without that limit Node would wait for minutes.
      expect(Date.now() - begun).toBeLessThan(15_000);
      expect(Date.now() - begun).toBeGreaterThanOrEqual(190);
    });
  });

  describe('answers', () => {
    test('carry their status, headers, Date and true length', async () => {
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

    test('without a body have a length of 0, and 204 has none', async () => {
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

    test('streamed to HEAD end after the headers', async () => {
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

    test('close the connection when they say so, and when the client says so', async () => {
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
    ])('refuse %s, and the request still gets an answer', async (_, name, value) => {
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

    test('given twice are given once', async () => {
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

    test('of a handler that throws are 500, and its fault is reported', async () => {
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

    test('that clients do not take wait as long as there is room for all of them, and then one is cut off', async () => {
      const readers = new Readers(50_000_000);
      let count = 0;
      const handler: RequestHandler = (_, reply) => {
        count += 1;
        // Copies, since what many are sent counts once.
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
      await vi.waitFor(() => expect(readers.waitingBytes).toBeGreaterThan(40_000_000), AT_LAST);
      all.push(unread());
      await vi.waitFor(() => expect(count).toBe(3), AT_LAST);
      expect(readers.waitingBytes).toBeLessThan(50_000_000);
      for (const { socket } of all) socket.resume();
      // Whoever asked last, or the first where the machine was so slow that it counts as stalled.
      const areWhole = await Promise.all(all.map(({ closed }) => closed));
      expect(areWhole.filter(Boolean)).toHaveLength(2);
      await settled();
      expect(readers.waitingBytes).toBe(0);
    });

    test('of 5 and 20 MB reach a slow reader byte for byte', async () => {
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
        await settled();
      }
    });

    test('in pieces of any size arrive as one, and count as one', async () => {
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

    test('leave the connection usable after a large one', async () => {
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
    test('bring each chunk as it is written, then end, and leave the connection usable', async () => {
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
      await settled();
    });

    test('may say that the connection closes, without a byte of it in the body', async () => {
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

    test('of 20 MB wait for a slow reader, count what they hold, and arrive byte for byte', async () => {
      let peak = 0;
      let drains = 0;
      let isHonest = true;
      await serveWith(kind, () => (_, __, reply) => {
        const stream = reply.stream(200, TEXT);
        let at = 0;
        const pump = (): void => {
          while (at < big.length) {
            // Pieces of many sizes, also larger than what the seam hands over at once.
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
      await settled();
    });

    test('written without waiting keep all, say how much, and flush it after their end', async () => {
      let held = 0;
      await serveWith(kind, () => (_, __, reply) => {
        const stream = reply.stream(200, TEXT);
        for (let at = 0; at < big.length; at += 1_000_000) stream.write(big.subarray(at, at + 1_000_000));
        held = stream.bufferedBytes;
        stream.end();
      });
      const { body } = await readSlowly('/');
      expect(held).toBeGreaterThan(5_000_000);
      expect(sha(body)).toBe(sha(big));
      await settled();
    });

    test('cut by the gateway show as broken, and tell nobody', async () => {
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
      await settled();
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
      await settled();
    });
  });

  describe('clients that go away', () => {
    test.each([
      ['during the body', false, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc'],
      ['before the answer', true, get('/')],
      ['before the answer to a body', true, post('/', 'abc')],
    ])('%s are told once, and nothing written later does harm', async (_, isBodyDue, bytes) => {
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
        await vi.waitFor(() => expect(listener.open).toBe(1), AT_LAST);
        raw[leave]();
        await settled();
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

    test('during a stream are told once, with backpressure and without', async () => {
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
        await settled();
        const stream = streams.at(-1);
        expect(stream?.isDone).toBe(true);
        stream?.write('late');
        stream?.end();
        expect(stream?.bufferedBytes).toBe(0);
      }
      expect(aborts).toHaveBeenCalledTimes(2);
    });

    test('during a large answer free it, and are not told: the routes have done their part', async () => {
      const aborts = vi.fn();
      await serveWith(kind, (_, reply) => {
        reply.onAbort(aborts);
        reply.send(200, TEXT, big);
        return undefined;
      });
      const raw = await client();
      raw.socket.pause();
      raw.write(get('/'));
      await vi.waitFor(() => expect(listener.open).toBe(1), AT_LAST);
      raw.destroy();
      await settled();
      expect(aborts).not.toHaveBeenCalled();
    });

    test('by the thousand, at any moment, leave nothing open', async () => {
      let begun = 0;
      let ended = 0;
      await serveWith(
        kind,
        (request, reply) => {
          begun += 1;
          reply.onAbort(() => {
            ended += 1;
          });
          if (request.path === '/refused') {
            ended += 1;
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
                  if (!stream.isDone) ended += 1;
                  stream.end();
                }, 3);
              } else {
                ended += 1;
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
      await settled();
      // How many get as far as the handler is a matter of timing; some hundreds are usual.
      expect(begun).toBeGreaterThan(50);
      expect(ended).toBe(begun);
      expect(faults).toEqual([]);
      const raw = await client();
      raw.write(get('/x'));
      expect((await raw.answer()).status).toBe(200);
    });
  });

  describe('the listener', () => {
    test('refuses a port in use, naming the address', async () => {
      const { port } = listener.address;
      const second = listen({
        host: '127.0.0.1',
        port,
        maxBodyBytes: 1,
        handler: () => undefined,
        prefer: kind,
      });
      await expect(second).rejects.toThrow(AlreadyHeldError);
      await expect(second).rejects.toThrow(`address 127.0.0.1:${port} is in use`);
      const raw = await client();
      raw.write(get('/still'));
      expect((await raw.answer()).status).toBe(200);
    });

    test('refuses a port that another program holds', async () => {
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
      await expect(opening).rejects.toThrow(AlreadyHeldError);
      await new Promise((resolve) => other.close(resolve));
    });

    test('refuses an address that is not of this machine, naming it', async () => {
      const opening = listen({
        host: '203.0.113.1',
        port: 8080,
        maxBodyBytes: 1,
        handler: () => undefined,
        prefer: kind,
      });
      await expect(opening).rejects.toThrow(/203\.0\.113\.1:8080/);
      await expect(opening).rejects.not.toThrow(AlreadyHeldError);
    });

    test('refuses a host that is none, naming it', async () => {
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

    test('after stopListening takes no new connection, and serves those that are open', async () => {
      await serveWith(kind, () => (request, body, reply) => {
        setTimeout(() => echo(request, body, reply), 50);
      });
      const raw = await client();
      raw.write(post('/drain', 'abc'));
      await vi.waitFor(() => expect(listener.open).toBe(1), AT_LAST);
      listener.stopListening();
      listener.stopListening();
      await expect(RawClient.connect(listener.address.port)).rejects.toThrow('ECONNREFUSED');
      expect(JSON.parse((await raw.answer()).body.toString())).toMatchObject({ body: 'abc' });
      expect(listener.open).toBe(0);
    });

    test('close ends everything at once, and tells the routes', async () => {
      const aborts = vi.fn();
      await serveWith(kind, () => (request, _, reply) => {
        reply.onAbort(aborts);
        if (request.path === '/stream') reply.stream(200, TEXT).write('x');
      });
      const raws = [await client(), await client(), await client()];
      for (const [n, raw] of raws.entries()) raw.write(get(['/stream', '/call', '/call'][n] ?? '/'));
      await vi.waitFor(() => expect(listener.open).toBe(3), AT_LAST);
      listener.close();
      listener.close();
      for (const raw of raws) await raw.closed();
      await settled();
      expect(aborts).toHaveBeenCalledTimes(3);
    });
  });

  /** Cuts a text at the given places, or everywhere, but not where uWebSockets.js cannot take it (see above). */
  function pieces(whole: string, cuts: readonly number[] = Array.from(whole, (_, at) => at)): string[] {
    const isAllowed = (at: number): boolean =>
      kind === 'node' || !/(?:^|\n|x)[A-Z]+ (?:\S+ [HTP/1.\r]*)?$/.test(whole.slice(0, at));
    const places = [...cuts]
      .sort((a, b) => a - b)
      .filter((at) => at > 0 && at < whole.length && isAllowed(at));
    return [0, ...places].map((from, n) => whole.slice(from, places[n] ?? whole.length));
  }

  /** Reads one answer with a rest after each stretch, long enough for the server's buffers to fill up. */
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

describe('the choice of the filling', () => {
  test('follows GATEWAY_HTTP where the caller has no wish', async () => {
    vi.stubEnv('GATEWAY_HTTP', 'node');
    const made = await listen({ host: '127.0.0.1', port: 0, maxBodyBytes: 1, handler: () => undefined });
    expect(made.kind).toBe('node:http');
    made.close();
    vi.unstubAllEnvs();
  });

  test('falls back to node:http, with the reason, where the addon does not load', async () => {
    vi.doMock('uWebSockets.js', () => {
      throw new Error('This version supports only Node.js 18 to 22\nand more');
    });
    const made = await listen({
      host: '127.0.0.1',
      port: 0,
      maxBodyBytes: 1,
      handler: () => undefined,
      prefer: 'uws',
    });
    vi.doUnmock('uWebSockets.js');
    expect(made.kind).toBe('node:http');
    expect(made.fallbackReason).toMatch(/uWebSockets\.js does not load here/);
    made.close();
  });
});
