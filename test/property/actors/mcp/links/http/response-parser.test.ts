// The reader of answers over HTTP/1.1: however the bytes are cut it tells the same, and what two readers could take
// differently it refuses.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ReadingTurn } from '../../../../../../actors/mcp/links/http/paced-reader.ts';
import { HttpFault } from '../../../../../../actors/mcp/links/http/response-head.ts';
import { ResponseParser } from '../../../../../../actors/mcp/links/http/response-parser.ts';

interface Told {
  readonly status: number;
  readonly type: string | undefined;
  body: string;
  isLast: boolean | undefined;
}

/** Reads one answer, given in pieces. */
function read(
  pieces: readonly Buffer[],
  isClosed = false,
  mostAtOnce = Number.POSITIVE_INFINITY,
  turn?: ReadingTurn,
): Told[] {
  const told: Told[] = [];
  const parser = new ResponseParser({
    onHead: (head) =>
      told.push({ status: head.status, type: head.header('content-type'), body: '', isLast: undefined }),
    onBody: (piece) => {
      const last = told.at(-1);
      if (last === undefined || last.isLast !== undefined) throw new Error('a body without a head');
      const taken = Math.min(piece.length, mostAtOnce);
      last.body += piece.toString('latin1', 0, taken);
      return taken;
    },
    onEnd: (isLast) => {
      const last = told.at(-1);
      if (last === undefined || last.isLast !== undefined) throw new Error('ended twice');
      last.isLast = isLast;
    },
  });
  parser.expect();
  for (const piece of pieces)
    for (let at = 0; at < piece.length; ) {
      const taken = parser.feed(piece.subarray(at), turn);
      expect(taken).toBeGreaterThan(0);
      at += taken;
    }
  if (isClosed) parser.finish();
  return told;
}

function cut(whole: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((place) => place % (whole.length + 1)))].sort((a, b) => a - b);
  return [0, ...at]
    .map((from, n) => whole.subarray(from, at[n] ?? whole.length))
    .filter(({ length }) => length > 0);
}

const body = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString('latin1'));
const framed = fc.record({
  body,
  framing: fc.constantFrom('length', 'chunked', 'untilClose'),
  sizes: fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 5 }),
  extension: fc.constantFrom('', ';a', ' ; a="b"'),
  trailers: fc.constantFrom('', 'X-Sum: 1\r\n', 'A: 1\r\nB: 2\r\n'),
  interim: fc.constantFrom(
    '',
    'HTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n',
  ),
  close: fc.boolean(),
});

function bytesOf({
  body,
  framing,
  sizes,
  extension,
  trailers,
  interim,
  close,
}: typeof framed extends fc.Arbitrary<infer T> ? T : never): Buffer {
  const head = `${interim}HTTP/1.1 200 OK\r\nContent-Type:text/plain \r\n${close ? 'Connection: close\r\n' : ''}`;
  if (framing === 'length')
    return Buffer.from(`${head}content-length: ${body.length}\r\n\r\n${body}`, 'latin1');
  if (framing === 'untilClose') return Buffer.from(`${head}\r\n${body}`, 'latin1');
  let chunks = '';
  for (let at = 0, n = 0; at < body.length; n += 1) {
    const size = Math.min(sizes[n % sizes.length] ?? 1, body.length - at);
    chunks += `${size.toString(16)}${extension}\r\n${body.slice(at, at + size)}\r\n`;
    at += size;
  }
  return Buffer.from(
    `${head}Transfer-Encoding: chunked\r\n\r\n${chunks}0${extension}\r\n${trailers}\r\n`,
    'latin1',
  );
}

describe('an answer', () => {
  test('cut anywhere is told whole, once, byte for byte (RP1, RP3)', () => {
    fc.assert(
      fc.property(
        framed,
        fc.array(fc.nat(), { maxLength: 12 }),
        fc.integer({ min: 1, max: 50 }),
        (answer, places, most) => {
          const isClosed = answer.framing === 'untilClose';
          const isLast = isClosed || answer.close;
          const expected = [{ status: 200, type: 'text/plain', body: answer.body, isLast }];
          const whole = bytesOf(answer);
          expect(read([whole], isClosed)).toEqual(expected);
          expect(read(cut(whole, places), isClosed)).toEqual(expected);
          // Whoever reads may take less at a time, and gets the rest again.
          expect(read(cut(whole, places), isClosed, most)).toEqual(expected);
          expect(read(cut(whole, places), isClosed, most, { isOver: true })).toEqual(expected);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('that breaks off anywhere has no end', () => {
    fc.assert(
      fc.property(framed, fc.nat(), (answer, place) => {
        fc.pre(answer.framing !== 'untilClose');
        const whole = bytesOf(answer);
        const part = whole.subarray(0, place % whole.length);
        expect(read([part]).some(({ isLast }) => isLast !== undefined)).toBe(false);
        expect(() => read([part], true)).toThrow(HttpFault);
      }),
    );
  });

  test.each([
    ['204 has no body', 'HTTP/1.1 204 No Content\r\n\r\n', 204],
    ['204 may say so', 'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n', 204],
    ['of length 0 ends with its head', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', 200],
    ['may leave out the reason', 'HTTP/1.1 202\r\nContent-Length: 0\r\n\r\n', 202],
  ])('%s', (_, text, status) => {
    expect(read([Buffer.from(text)])).toMatchObject([{ status, body: '', isLast: false }]);
  });

  test.each(['Content-Length: 5', 'Transfer-Encoding: chunked'])(
    '204 has no body when it announces one by %s, and is the last: that body may follow',
    (header) => {
      const head = `HTTP/1.1 204 No Content\r\n${header}\r\n\r\n`;
      expect(read([Buffer.from(head)])).toMatchObject([{ status: 204, body: '', isLast: true }]);
    },
  );

  test.each([
    ['chunks of a byte', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', '1\r\nx\r\n'],
    ['interim answers', '', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ])('of %s without end is left when its turn is over (RP2)', (_, head, part) => {
    const parser = new ResponseParser({ onHead: () => {}, onBody: ({ length }) => length, onEnd: () => {} });
    parser.expect();
    expect(parser.feed(Buffer.from(head + part), { isOver: true })).toBe(head.length + part.length);
    const many = Buffer.from(part.repeat(2_000));
    const taken = parser.feed(many, { isOver: true });
    expect(taken).toBeGreaterThan(0);
    expect(taken).toBeLessThan(200 * part.length);
    expect(parser.feed(many.subarray(taken))).toBe(many.length - taken);
  });

  test('leaves nothing unread of what follows its end, though its turn is over', () => {
    const many = '1\r\nx\r\n'.repeat(2_000);
    const whole = Buffer.from(
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${many}0\r\n\r\nHTTP/1.1`,
    );
    expect(() => read([whole], false, undefined, { isOver: true })).toThrow(HttpFault);
  });

  test('of HTTP/1.0 is the last, unless it says otherwise', () => {
    const head = 'HTTP/1.0 200 OK\r\nContent-Length: 1\r\n';
    expect(read([Buffer.from(`${head}\r\nx`)])).toMatchObject([{ isLast: true }]);
    expect(read([Buffer.from(`${head}Connection: Keep-Alive\r\n\r\nx`)])).toMatchObject([{ isLast: false }]);
  });
});

describe('a fault is', () => {
  const ok = 'HTTP/1.1 200 OK\r\n';
  test.each([
    ['another protocol', '220 mail.example.com ESMTP\r\n'],
    ['another version', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['a status that is none', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['a change of protocol', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
    ['an interim answer of HTTP/1.0', 'HTTP/1.0 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n'],
    ['two lengths', `${ok}Content-Length: 1\r\nContent-Length: 1\r\n\r\nx`],
    ['a length that is none', `${ok}Content-Length: +1\r\n\r\nx`],
    ['a length and chunks', `${ok}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`],
    ['another coding', `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n`],
    ['chunks of HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['a folded header', `${ok}A: b\r\n c\r\n\r\n`],
    ['a blank before the colon', `${ok}Content-Length : 1\r\n\r\nx`],
    ['a bare line feed', `${ok}A: b\nContent-Length: 1\r\n\r\nx`],
    ['a head that ends with bare line feeds', `${ok}A: b\n\n`],
    ['a status line that ends so', 'HTTP/1.1 200 OK\nA: b\n\n'],
    ['the size of a chunk that ends so', `${ok}Transfer-Encoding: chunked\r\n\r\n1\nx\n0\n\n`],
    ['a trailer that ends so', `${ok}Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\n\n`],
    ['a zero byte', `${ok}A: b\0\r\n\r\n`],
    ['a head without end', `${ok}A: ${'b'.repeat(20_000)}`],
    ['a blank before the size of a chunk', `${ok}Transfer-Encoding: chunked\r\n\r\n 1\r\nx\r\n0\r\n\r\n`],
    ['a chunk without a size', `${ok}Transfer-Encoding: chunked\r\n\r\n\r\nx\r\n0\r\n\r\n`],
    ['a chunk with a sign', `${ok}Transfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n0\r\n\r\n`],
    ['a chunk longer than its size', `${ok}Transfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n`],
    ['a size without end', `${ok}Transfer-Encoding: chunked\r\n\r\n1;${'a'.repeat(5_000)}`],
    [
      'trailers without end',
      `${ok}Transfer-Encoding: chunked\r\n\r\n0\r\n${'a: b\r\n'.repeat(1)}${'c'.repeat(20_000)}`,
    ],
    ['trailers without number', `${ok}Transfer-Encoding: chunked\r\n\r\n0\r\n${'a: b\r\n'.repeat(5_000)}`],
    ['a second answer', `${ok}Content-Length: 0\r\n\r\n${ok}Content-Length: 0\r\n\r\n`],
  ])('%s', (_, text) => {
    expect(() => read([Buffer.from(text, 'latin1')])).toThrow(HttpFault);
  });
});
