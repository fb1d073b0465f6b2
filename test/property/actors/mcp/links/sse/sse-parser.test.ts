// Compares the SSE parser of the gateway, which reads bytes, with the reference parser `eventsource-parser`.
// The parser of the gateway reads random chunks. The reference parser reads the whole stream as Latin-1 text,
// in which every byte is one character.

import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type SseCursor, SseParser } from '../../../../../../actors/mcp/links/sse/sse-parser.ts';

interface ParsedEvent {
  readonly type: string;
  readonly data: string;
}

function parse(chunks: readonly Buffer[]): { events: ParsedEvent[]; cursor: SseCursor } {
  const events: ParsedEvent[] = [];
  const cursor: SseCursor = { lastEventId: '', retryMs: undefined };
  const maxEventBytes = 1_048_576;
  const parser = new SseParser(maxEventBytes, cursor, {
    onEvent: (type, data) => events.push({ type, data: data.toString('latin1') }),
    onOversizedEvent: () => expect.unreachable('nothing here is oversized'),
  });
  for (const chunk of chunks) parser.feed(chunk);
  return { events, cursor };
}

function parseWithReference(bytes: Buffer): { events: ParsedEvent[]; retryMs: number | undefined } {
  const events: ParsedEvent[] = [];
  let retryMs: number | undefined;
  const parser = createParser({
    onEvent: ({ event = 'message', data }) => {
      // The standard does not dispatch an event without data. `eventsource-parser` leaves that to the caller.
      if (data !== '') events.push({ type: event, data });
    },
    onRetry: (ms) => {
      retryMs = ms;
    },
  });
  parser.feed(bytes.toString('latin1'));
  return { events, retryMs };
}

/** Splits the bytes at the cuts, modulo the length. */
function split(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const borders = [...new Set(cuts.map((offset) => offset % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...borders].map((start, index) => bytes.subarray(start, borders[index] ?? bytes.length));
}

const lineEnd = fc.constantFrom('\n', '\r', '\r\n');
const text = fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString('latin1'));
const field = fc.constantFrom(
  'data',
  'event',
  'id',
  'retry',
  'dat',
  'datax',
  'Data',
  'foobarbaz',
  '',
  ' data',
);
const line = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(field, fc.constantFrom(':', ': ', ':  ', ''), text).map((parts) => parts.join('')),
  },
  { weight: 2, arbitrary: text.map((value) => `data: {"a":"${value}"}`) },
  { weight: 1, arbitrary: fc.nat(99_999).map((ms) => `retry: ${ms}`) },
  { weight: 3, arbitrary: fc.constant('') },
);
const stream = fc
  .tuple(
    // A byte order mark, whole or incomplete.
    fc.constantFrom('', '\xef\xbb\xbf', '\xef\xbb', '\xef'),
    fc.array(
      fc.tuple(line, lineEnd).map((parts) => parts.join('')),
      { maxLength: 20 },
    ),
  )
  // Ends with a comment, because `eventsource-parser` delays a carriage return until the next character.
  .map(([start, lines]) => Buffer.from(`${start}${lines.join('')}:\n`, 'latin1'));

test('an SSE stream in any chunks yields the same events and retry time as the reference parser', () => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat(400), { maxLength: 30 }), (bytes, cuts) => {
      const { events, cursor } = parse(split(bytes, cuts));
      const expected = parseWithReference(bytes);
      expect(events).toEqual(expected.events);
      expect(cursor.retryMs).toBe(expected.retryMs);
    }),
    { numRuns: 3000 },
  );
});

test('an SSE stream read byte by byte yields the same events as in one piece', () => {
  fc.assert(
    fc.property(stream, (bytes) => {
      const inOnePiece = parse([bytes]);
      const byteByByte = parse(Array.from(bytes, (byte) => Buffer.from([byte])));
      expect(byteByByte).toEqual(inOnePiece);
    }),
    { numRuns: 500 },
  );
});

test('the data of an SSE event contains every sent byte, even if it is not UTF-8', () => {
  // Line breaks become spaces.
  const anyBytes = fc
    .uint8Array({ minLength: 1, maxLength: 300 })
    .map((bytes) => Buffer.from(bytes.map((byte) => (byte === 0x0a || byte === 0x0d ? 0x20 : byte))));
  fc.assert(
    fc.property(anyBytes, fc.array(fc.nat(400), { maxLength: 10 }), (data, cuts) => {
      const bytes = Buffer.concat([Buffer.from('data: '), data, Buffer.from('\n\n')]);
      const { events } = parse(split(bytes, cuts));
      expect(events).toEqual([{ type: 'message', data: data.toString('latin1') }]);
    }),
  );
});
