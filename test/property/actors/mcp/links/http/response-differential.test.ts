// Compares the response parser of the gateway with the HTTP client of Node on the same bytes, in random
// chunks. A response that the parser accepts is equal in Node, and a connection that it reuses is reusable in
// Node. The parser may reject more than Node; its unit tests list these cases.

import { Agent, request } from 'node:http';
import { Duplex } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HttpFault } from '../../../../../../actors/mcp/links/http/response-head.ts';
import { ResponseParser } from '../../../../../../actors/mcp/links/http/response-parser.ts';

/** The result of reading one response. */
interface Outcome {
  isWhole: boolean;
  status: number | undefined;
  reason: string | undefined;
  contentType: string | undefined;
  body: string;
  isReusable: boolean;
}

const emptyOutcome = (): Outcome => ({
  isWhole: false,
  status: undefined,
  reason: undefined,
  contentType: undefined,
  body: '',
  isReusable: false,
});

/** A connection to a peer that sends a fixed response after the first request bytes, and closes. */
class ScriptedConnection extends Duplex {
  readonly #pieces: readonly Buffer[];
  #hasBegun = false;

  constructor(pieces: readonly Buffer[]) {
    super();
    this.#pieces = pieces;
    this.on('error', () => {});
  }

  override _read(): void {}

  override _write(_chunk: unknown, _encoding: unknown, done: () => void): void {
    done();
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    setImmediate(() => {
      for (const piece of [...this.#pieces, null]) if (!this.destroyed) this.push(piece);
    });
  }

  setTimeout(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

function readByNode(pieces: readonly Buffer[]): Promise<Outcome> {
  const outcome = emptyOutcome();
  const socket = new ScriptedConnection(pieces);
  const agent = new Agent({ keepAlive: true });
  Object.assign(agent, { createConnection: () => socket });
  return new Promise((resolve) => {
    const end = (): void => {
      socket.destroy();
      resolve(outcome);
    };
    const sent = request({ agent, method: 'POST', host: 'a', headers: { 'content-length': 0 } });
    sent.on('error', () => {});
    sent.on('upgrade', end);
    sent.on('response', (response) => {
      outcome.status = response.statusCode;
      outcome.reason = response.statusMessage;
      outcome.contentType = response.headersDistinct['content-type']?.join(', ');
      response.on('data', (piece: Buffer) => {
        outcome.body += piece.toString('latin1');
      });
      response.on('error', () => {});
      response.on('close', () => {
        outcome.isWhole = response.complete;
        outcome.isReusable = sent.shouldKeepAlive;
        end();
      });
    });
    sent.on('close', () => setImmediate(end));
    sent.end();
  });
}

function readByParser(pieces: readonly Buffer[]): Outcome {
  const outcome = emptyOutcome();
  const parser = new ResponseParser({
    onHead: (head) => {
      outcome.status = head.status;
      outcome.reason = head.reason;
      outcome.contentType = head.header('content-type');
    },
    onBody: (piece) => {
      outcome.body += piece.toString('latin1');
      return piece.length;
    },
    onEnd: (isLast) => {
      outcome.isWhole = true;
      outcome.isReusable = !isLast;
    },
  });
  parser.expect();
  try {
    for (const piece of pieces) parser.feed(piece);
    if (!outcome.isWhole) parser.finish();
  } catch (error) {
    if (!(error instanceof HttpFault)) throw error;
  }
  return outcome;
}

/** A chunked body: chunks with extensions and padded sizes, and trailers. */
const chunked = fc
  .array(
    fc.tuple(
      fc.string({ minLength: 1, maxLength: 20 }),
      fc.constantFrom('', '', ';a=b', ';a="b c"'),
      fc.boolean(),
    ),
    { maxLength: 4 },
  )
  .chain((chunks) =>
    fc.constantFrom('', 'X-Sum: 1\r\n').map((trailers) => {
      const sized = chunks.map(([text, extension, isPadded]) => {
        const bytes = Buffer.from(text).toString('latin1');
        return `${isPadded ? '00' : ''}${bytes.length.toString(16)}${extension}\r\n${bytes}\r\n`;
      });
      return `${sized.join('')}0\r\n${trailers}\r\n`;
    }),
  );

/** Framing headers with a body, some contradictory. */
const framed = fc.oneof(
  chunked.map((body) => ['Transfer-Encoding: chunked\r\n', body]),
  fc.string({ maxLength: 30 }).map((text) => {
    const body = Buffer.from(text).toString('latin1');
    return [`Content-Length: ${body.length}\r\n`, body];
  }),
  fc.string({ maxLength: 30 }).map((body) => ['', body]),
  chunked.map((body) => ['Content-Length: 3\r\nTransfer-Encoding: chunked\r\n', body]),
  fc.constant(['Content-Length: 2\r\nContent-Length: 3\r\n', 'abc']),
);

const header = fc.constantFrom(
  ...['Connection: close', 'Connection: keep-alive', 'connection: Keep-Alive, x', 'Connection: x'],
  ...['Content-Type: a/b', 'content-type:\ta/b ', 'X-A: \xe4\t"', 'X-B:', 'Keep-Alive: timeout=5'],
);

/** Response head and body. The head may start with an interim response. */
const anyResponse = fc
  .record({
    interim: fc.constantFrom(
      '',
      '',
      'HTTP/1.1 100 Continue\r\n\r\n',
      'HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n',
    ),
    version: fc.constantFrom('1.1', '1.1', '1.1', '1.0'),
    status: fc.constantFrom(
      '200 OK',
      '200 OK',
      '202',
      '201 ',
      '204 No Content',
      '304 Not Modified',
      '503 \xe4',
    ),
    headers: fc.array(header, { maxLength: 3 }),
    framed,
  })
  .map(({ interim, version, status, headers, framed: [framing = '', body = ''] }) => ({
    head: `${interim}HTTP/${version} ${status}\r\n${headers.map((each) => `${each}\r\n`).join('')}${framing}\r\n`,
    body,
  }));

/** Replacement of one byte in the response head. `undefined` removes the byte. */
const damage = fc.constantFrom(
  undefined,
  ' ',
  '\r',
  '\n',
  '\r\n',
  '\0',
  '\x7f',
  '\xff',
  'A',
  '0',
  ':',
  ',',
  ';',
);

test('an HTTP response that the parser accepts as complete is parsed equally by the HTTP client of Node', async () => {
  let wholeCount = 0;
  await fc.assert(
    fc.asyncProperty(
      anyResponse,
      fc.option(fc.tuple(fc.nat(), damage), { freq: 2 }),
      fc.array(fc.nat(), { maxLength: 6 }),
      async ({ head, body }, damaged, cuts) => {
        let sentHead = head;
        if (damaged !== null) {
          const [position, replacement = ''] = damaged;
          const index = position % head.length;
          sentHead = head.slice(0, index) + replacement + head.slice(index + 1);
        }
        const bytes = Buffer.from(sentHead + body, 'latin1');
        const borders = [...cuts.map((cut) => cut % bytes.length), 0, bytes.length].sort((a, b) => a - b);
        const pieces = borders.slice(1).map((end, n) => bytes.subarray(borders[n], end));
        const parsedByGateway = readByParser(pieces.filter(({ length }) => length > 0));
        if (!parsedByGateway.isWhole) return;
        wholeCount += 1;
        const parsedByNode = await readByNode(pieces);
        // `isReusable` is compared as an implication: Node keeps each connection that the gateway keeps. The
        // gateway may close a connection that Node keeps.
        expect({
          ...parsedByGateway,
          isReusable: parsedByGateway.isReusable && parsedByNode.isReusable,
        }).toEqual({
          ...parsedByNode,
          isReusable: parsedByGateway.isReusable,
        });
      },
    ),
    { numRuns: 1_000 },
  );
  // Enough of the random responses were complete.
  expect(wholeCount).toBeGreaterThan(200);
});
