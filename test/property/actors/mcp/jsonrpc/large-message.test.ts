// Large messages of servers, which are scanned piece by piece, for any piece boundaries. A message that
// is too large to store still yields its id. A stored response has the same envelope as if it were read in
// one piece.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Envelope } from '../../../../../actors/mcp/jsonrpc/envelope.ts';
import { LargeMessage } from '../../../../../actors/mcp/jsonrpc/large-message.ts';
import { readServerMessage } from '../../../../../actors/mcp/jsonrpc/read-message.ts';

/** Splits the bytes at the cuts, modulo the length. The first piece is empty. */
function piecesOf(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const borders = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return borders.map((border, index) => bytes.subarray(borders[index - 1] ?? 0, border));
}

/** Returns the message id; the message is scanned in pieces and not stored. */
function idOf(text: string, cuts: readonly number[] = []): string | undefined {
  const bytes = Buffer.from(text);
  const message = new LargeMessage();
  for (const piece of piecesOf(bytes, cuts)) message.feed(piece);
  expect(message.size).toBe(bytes.length);
  return message.id;
}

// Short ASCII ids, as used in practice, which the scanner stores unchanged.
const id = fc.oneof(
  fc.integer(),
  fc.string({ maxLength: 40, unit: 'binary-ascii' }),
  fc.constantFrom('"', '\\', '{"id":1}'),
);
const member = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom({ id: 1 }, [{ id: 'x' }], '"id":2,', { a: { id: 3 } }, 'id', ['id', 5]),
);
const key = fc.oneof(fc.string(), fc.constantFrom('result', 'params', 'Id', 'ids', '"id"', '\\id'));
const indent = fc.constantFrom(undefined, 1, '\t');

describe('an oversized message', () => {
  test('returns the unparsed top-level id of any JSON object, however the message is split into chunks', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(key, member)),
        fc.array(fc.tuple(key, member)),
        id,
        indent,
        fc.array(fc.nat(), { maxLength: 20 }),
        (before, after, topLevelId, space, cuts) => {
          const withoutId = (pairs: [string, unknown][]) =>
            pairs.filter(([name]) => name !== 'id' && name !== 'method');
          const object = Object.fromEntries([...withoutId(before), ['id', topLevelId], ...withoutId(after)]);
          const text = JSON.stringify(object, undefined, space);
          const parsed = JSON.parse(text) as { id: unknown };
          expect(idOf(text, cuts)).toBe(JSON.stringify(parsed.id));
        },
      ),
      { numRuns: 1000 },
    );
  });

  test('returns no id if the top level has no id', () => {
    fc.assert(
      fc.property(fc.dictionary(key, member), fc.array(fc.nat()), (object, cuts) => {
        const { id: _, ...rest } = object;
        expect(idOf(JSON.stringify(rest), cuts)).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ['an array of messages', '[{"id":1},{"id":2}]'],
    ['an id that is an object', '{"id":{"id":1},"x":"id"}'],
    ['an id that is null', '{"id":null}'],
    ['a text', '"id"'],
  ])('returns no id for %s', (_, text) => {
    expect(idOf(text)).toBeUndefined();
  });

  test('returns the id after deeply nested content, but no response, however the message is split', () => {
    // Text with brackets in strings, deeper than a response may be.
    const nested = fc
      .array(fc.constantFrom('[', '{"id":9,"a":', '[{"]}":"\\"}]"},'), { minLength: 300, maxLength: 400 })
      .map((opened) => {
        const closed = opened.map((opening) => (opening.startsWith('{') ? '}' : ']'));
        return `${opened.join('')}"}]\\u005d"${closed.reverse().join('')}`;
      });
    fc.assert(
      fc.property(nested, fc.array(fc.nat(), { maxLength: 20 }), (deep, cuts) => {
        const bytes = Buffer.from(`{"result":${deep},"id":7}`);
        const message = storedMessage(bytes, cuts);
        expect([message.id, message.answer()]).toEqual(['7', undefined]);
      }),
    );
  });

  test('may consist of any bytes without an error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const message = new LargeMessage();
        message.feed(Buffer.from(bytes));
        expect(message.size).toBe(bytes.length);
      }),
    );
  });

  test("that is a server's own request has a request id, but no response id", () => {
    for (const text of ['{"id":7,"method":"x"}', '{"method":"x","params":{},"id":7}']) {
      const message = new LargeMessage();
      message.feed(Buffer.from(text));
      expect(message.id).toBeUndefined();
      expect(message.requestId).toBe('7');
    }
  });

  test('that is a response has a response id, but no request id', () => {
    const message = new LargeMessage();
    message.feed(Buffer.from('{"id":7,"result":{}}'));
    expect(message.id).toBe('7');
    expect(message.requestId).toBeUndefined();
  });
});

/** Returns a message that is scanned in pieces, and that stores these. */
function storedMessage(bytes: Buffer, cuts: readonly number[]): LargeMessage {
  const message = new LargeMessage();
  // Copies, because the reader of the whole text may modify the buffer.
  const pieces = piecesOf(bytes, cuts).map((piece) => Buffer.from(piece));
  for (const piece of pieces) message.feed(piece);
  message.pieces = pieces;
  return message;
}

/**
 * Reads the whole text. Returns the envelope of a response; undefined for another message, for a null id, and
 * if the reader has changed the bytes, as it does to remove null members.
 */
function answerFrom(bytes: Buffer): Envelope | undefined {
  try {
    const envelope = readServerMessage(Buffer.from(bytes));
    const isUnchanged = envelope.bytes.length === bytes.length;
    return envelope.kind === 'answer' && envelope.rawId !== 'null' && isUnchanged ? envelope : undefined;
  } catch {
    return undefined;
  }
}

describe('a response in pieces', () => {
  /** Members of the top level as raw text, also with escaped names and invalid values. */
  const anyMember = fc.tuple(
    fc.constantFrom(
      'id',
      'result',
      'error',
      'jsonrpc',
      'method',
      'x',
      '_meta',
      '\\u0069d',
      'res\\u0075lt',
      'ID',
    ),
    fc.oneof(
      member.map((each) => JSON.stringify(each)),
      fc.constantFrom(
        '7',
        '7.0',
        '"7"',
        '-1e2',
        'null',
        '""',
        '{"id":1}',
        `"${'x'.repeat(250)}"`,
        '\r7',
        '7\r',
        '01',
        '"',
      ),
    ),
  );
  const anyText = fc
    .tuple(
      fc.constantFrom([], ['"id":7', '"result":{}'], ['"error":{}', '"id":"a"']),
      fc.array(anyMember, { maxLength: 4 }),
    )
    .map(([usual, more]) => [...usual, ...more.map(([name, value]) => `"${name}":${value}`)])
    .chain((members) => fc.shuffledSubarray(members, { minLength: members.length }))
    .map((members) => `{${members.join(',')}}`);

  test('is parsed like the whole text, and no other message in pieces counts as a response', () => {
    let answers = 0;
    fc.assert(
      fc.property(anyText, fc.array(fc.nat(), { maxLength: 20 }), (raw, cuts) => {
        const bytes = Buffer.from(raw);
        const expected = answerFrom(bytes);
        const answer = storedMessage(bytes, cuts).answer();
        expect(answer === undefined).toBe(expected === undefined);
        if (answer === undefined || expected === undefined) return;
        answers += 1;
        // The message stays in pieces until `bytes` is read.
        expect(Array.isArray(answer.message)).toBe(true);
        const { kind, method, id, rawId, numericId, result, error, params } = answer;
        expect({ kind, method, id, rawId, numericId, result, error, params }).toEqual({
          kind: expected.kind,
          method: expected.method,
          id: expected.id,
          rawId: expected.rawId,
          numericId: expected.numericId,
          result: expected.result,
          error: expected.error,
          params: expected.params,
        });
        expect(Array.isArray(answer.message)).toBe(true);
        // The first access to `bytes` joins the pieces. Afterwards `message` is the joined buffer.
        expect(answer.bytes.equals(expected.bytes)).toBe(true);
        expect(answer.message).toBe(answer.bytes);
      }),
      { numRuns: 3000 },
    );
    // Enough of the random texts were responses.
    expect(answers).toBeGreaterThan(300);
  });

  test.each([
    ['a request', '{"id":7,"method":"x"}'],
    ['a notification', '{"method":"x","params":{}}'],
    ['an answer with params', '{"id":7,"result":1,"params":{"name":1,"name":2}}'],
    ['an id beyond 1024 bytes', `{"id":"${'x'.repeat(2000)}","result":1}`],
    ['an array', '[{"id":7,"result":1}]'],
    ['an incomplete response', '{"id":7,"result":1'],
    ['two answers', '{"id":7,"result":1}{"id":7,"result":1}'],
    ['an empty text', ''],
  ])('is not recognised in %s', (_, raw) => {
    expect(storedMessage(Buffer.from(raw), [3]).answer()).toBeUndefined();
    // A message without stored pieces is never a response.
    const unstored = storedMessage(Buffer.from('{"id":7,"result":1}'), []);
    unstored.pieces = undefined;
    expect(unstored.answer()).toBeUndefined();
  });

  test('omits the line end, and replaces a line break between members by a space', () => {
    const plain = storedMessage(Buffer.from('{"id":7,"result":1}\r'), [18, 19]);
    plain.trimLineEnd();
    expect(plain.answer()?.bytes.toString()).toBe('{"id":7,"result":1}');
    const broken = storedMessage(Buffer.from('{"id":7,\r"result":1}\r'), [8, 9]);
    broken.trimLineEnd();
    expect(broken.size).toBe(20);
    expect(broken.answer()?.bytes.toString()).toBe('{"id":7, "result":1}');
  });
});
