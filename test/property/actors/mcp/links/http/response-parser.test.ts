// The HTTP/1.1 response parser. Its result does not depend on the chunks of the input. It rejects ambiguous
// responses.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ReadingTurn } from '../../../../../../actors/mcp/links/http/paced-reader.ts';
import { HttpFault } from '../../../../../../actors/mcp/links/http/response-head.ts';
import { ResponseParser } from '../../../../../../actors/mcp/links/http/response-parser.ts';

interface ReportedResponse {
  readonly status: number;
  readonly type: string | undefined;
  body: string;
  isLast: boolean | undefined;
}

/**
 * Reads one response from pieces. `isClosed` ends the connection after the last piece. `maxConsumed` limits
 * the bytes that the consumer of the body accepts per call.
 */
function read(
  pieces: readonly Buffer[],
  isClosed = false,
  maxConsumed = Number.POSITIVE_INFINITY,
  turn?: ReadingTurn,
): ReportedResponse[] {
  const responses: ReportedResponse[] = [];
  const parser = new ResponseParser({
    onHead: (head) =>
      responses.push({ status: head.status, type: head.header('content-type'), body: '', isLast: undefined }),
    onBody: (piece) => {
      const last = responses.at(-1);
      if (last === undefined || last.isLast !== undefined) throw new Error('a body without a head');
      const consumed = Math.min(piece.length, maxConsumed);
      last.body += piece.toString('latin1', 0, consumed);
      return consumed;
    },
    onEnd: (isLast) => {
      const last = responses.at(-1);
      if (last === undefined || last.isLast !== undefined) throw new Error('ended twice');
      last.isLast = isLast;
    },
  });
  parser.expect();
  for (const piece of pieces)
    for (let at = 0; at < piece.length; ) {
      const consumed = parser.feed(piece.subarray(at), turn);
      expect(consumed).toBeGreaterThan(0);
      at += consumed;
    }
  if (isClosed) parser.finish();
  return responses;
}

function splitAt(whole: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [...new Set(cuts.map((offset) => offset % (whole.length + 1)))].sort((a, b) => a - b);
  return [0, ...at]
    .map((from, n) => whole.subarray(from, at[n] ?? whole.length))
    .filter(({ length }) => length > 0);
}

const body = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString('latin1'));
/** A response and its framing. `sizes` are chunk sizes. */
const arbResponse = fc.record({
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

/** Returns the response bytes. */
function bytesOf({
  body,
  framing,
  sizes,
  extension,
  trailers,
  interim,
  close,
}: typeof arbResponse extends fc.Arbitrary<infer T> ? T : never): Buffer {
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

describe('an HTTP response', () => {
  test('received in arbitrary chunks is reported once, complete and byte for byte', () => {
    fc.assert(
      fc.property(
        arbResponse,
        fc.array(fc.nat(), { maxLength: 12 }),
        fc.integer({ min: 1, max: 50 }),
        (answer, cuts, maxConsumed) => {
          const isClosed = answer.framing === 'untilClose';
          const isLast = isClosed || answer.close;
          const expected = [{ status: 200, type: 'text/plain', body: answer.body, isLast }];
          const whole = bytesOf(answer);
          expect(read([whole], isClosed)).toEqual(expected);
          expect(read(splitAt(whole, cuts), isClosed)).toEqual(expected);
          // A consumer may accept smaller portions, and receives the rest later.
          expect(read(splitAt(whole, cuts), isClosed, maxConsumed)).toEqual(expected);
          expect(read(splitAt(whole, cuts), isClosed, maxConsumed, { isOver: true })).toEqual(expected);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('cut off anywhere is reported as incomplete', () => {
    fc.assert(
      fc.property(arbResponse, fc.nat(), (answer, offset) => {
        // Such a response ends with the connection, so it is never incomplete.
        fc.pre(answer.framing !== 'untilClose');
        const whole = bytesOf(answer);
        const part = whole.subarray(0, offset % whole.length);
        expect(read([part]).some(({ isLast }) => isLast !== undefined)).toBe(false);
        expect(() => read([part], true)).toThrow(HttpFault);
      }),
    );
  });

  test.each([
    ['with status 204 has no body', 'HTTP/1.1 204 No Content\r\n\r\n', 204],
    [
      'with status 204 may have a content length of 0',
      'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n',
      204,
    ],
    ['with content length 0 ends with its head', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', 200],
    ['may omit the reason phrase', 'HTTP/1.1 202\r\nContent-Length: 0\r\n\r\n', 202],
  ])('%s', (_, text, status) => {
    expect(read([Buffer.from(text)])).toMatchObject([{ status, body: '', isLast: false }]);
  });

  test.each(['Content-Length: 5', 'Transfer-Encoding: chunked'])(
    'with status 204 and %s has no body, and is the last on the connection, because a body may follow',
    (header) => {
      const head = `HTTP/1.1 204 No Content\r\n${header}\r\n\r\n`;
      expect(read([Buffer.from(head)])).toMatchObject([{ status: 204, body: '', isLast: true }]);
    },
  );

  // Name, head, and the part that is repeated.
  test.each([
    ['one-byte chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', '1\r\nx\r\n'],
    ['interim answers', '', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ])('with endless %s is parsed only until the time slice ends', (_, head, part) => {
    const parser = new ResponseParser({ onHead: () => {}, onBody: ({ length }) => length, onEnd: () => {} });
    parser.expect();
    expect(parser.feed(Buffer.from(head + part), { isOver: true })).toBe(head.length + part.length);
    const many = Buffer.from(part.repeat(2_000));
    const consumed = parser.feed(many, { isOver: true });
    // The parser makes progress, and stops long before the end.
    expect(consumed).toBeGreaterThan(0);
    expect(consumed).toBeLessThan(200 * part.length);
    expect(parser.feed(many.subarray(consumed))).toBe(many.length - consumed);
  });

  test('is rejected if invalid bytes follow it in the same chunk, even if the time slice has ended', () => {
    const many = '1\r\nx\r\n'.repeat(2_000);
    const whole = Buffer.from(
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${many}0\r\n\r\nHTTP/1.1`,
    );
    expect(() => read([whole], false, undefined, { isOver: true })).toThrow(HttpFault);
  });

  test('of HTTP/1.0 is the last on the connection, unless a header keeps the connection alive', () => {
    const head = 'HTTP/1.0 200 OK\r\nContent-Length: 1\r\n';
    expect(read([Buffer.from(`${head}\r\nx`)])).toMatchObject([{ isLast: true }]);
    expect(read([Buffer.from(`${head}Connection: Keep-Alive\r\n\r\nx`)])).toMatchObject([{ isLast: false }]);
  });
});

describe('the HTTP response parser rejects', () => {
  const ok = 'HTTP/1.1 200 OK\r\n';
  test.each([
    ['another protocol', '220 mail.example.com ESMTP\r\n'],
    ['another version', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['an invalid status', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['a change of protocol', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
    ['an interim response of HTTP/1.0', 'HTTP/1.0 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n'],
    ['two lengths', `${ok}Content-Length: 1\r\nContent-Length: 1\r\n\r\nx`],
    ['an invalid length', `${ok}Content-Length: +1\r\n\r\nx`],
    ['a length and chunks', `${ok}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`],
    ['another coding', `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n`],
    ['chunks of HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['a folded header', `${ok}A: b\r\n c\r\n\r\n`],
    ['a blank before the colon', `${ok}Content-Length : 1\r\n\r\nx`],
    ['a bare line feed', `${ok}A: b\nContent-Length: 1\r\n\r\nx`],
    ['a head that ends with bare line feeds', `${ok}A: b\n\n`],
    ['a status line that ends with a line feed', 'HTTP/1.1 200 OK\nA: b\n\n'],
    ['a chunk size that ends with a line feed', `${ok}Transfer-Encoding: chunked\r\n\r\n1\nx\n0\n\n`],
    ['a trailer that ends with a line feed', `${ok}Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\n\n`],
    ['a zero byte', `${ok}A: b\0\r\n\r\n`],
    ['an endless head', `${ok}A: ${'b'.repeat(20_000)}`],
    ['a blank before the size of a chunk', `${ok}Transfer-Encoding: chunked\r\n\r\n 1\r\nx\r\n0\r\n\r\n`],
    ['a chunk without a size', `${ok}Transfer-Encoding: chunked\r\n\r\n\r\nx\r\n0\r\n\r\n`],
    ['a chunk with a sign', `${ok}Transfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n0\r\n\r\n`],
    ['a chunk longer than its size', `${ok}Transfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n`],
    ['an endless chunk size', `${ok}Transfer-Encoding: chunked\r\n\r\n1;${'a'.repeat(5_000)}`],
    [
      'endless trailers',
      `${ok}Transfer-Encoding: chunked\r\n\r\n0\r\n${'a: b\r\n'.repeat(1)}${'c'.repeat(20_000)}`,
    ],
    ['too many trailers', `${ok}Transfer-Encoding: chunked\r\n\r\n0\r\n${'a: b\r\n'.repeat(5_000)}`],
    ['a second response', `${ok}Content-Length: 0\r\n\r\n${ok}Content-Length: 0\r\n\r\n`],
  ])('%s', (_, text) => {
    expect(() => read([Buffer.from(text, 'latin1')])).toThrow(HttpFault);
  });
});
