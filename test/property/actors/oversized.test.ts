import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OversizedMessage } from '../../../actors/jsonrpc/oversized.ts';

function idOf(text: string, cuts: readonly number[] = []): string | undefined {
  const bytes = Buffer.from(text);
  const borders = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  const message = new OversizedMessage();
  for (const [index, border] of borders.entries())
    message.feed(bytes.subarray(borders[index - 1] ?? 0, border));
  expect(message.size).toBe(bytes.length);
  return message.id;
}

// ASCII and short: what ids are in practice, and all that the scanner keeps faithfully.
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
  test('tells the raw id of its top level, for any object and any chunking', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(key, member)),
        fc.array(fc.tuple(key, member)),
        id,
        indent,
        fc.array(fc.nat(), { maxLength: 20 }),
        (before, after, ownId, space, cuts) => {
          const others = (pairs: [string, unknown][]) =>
            pairs.filter(([name]) => name !== 'id' && name !== 'method');
          const object = Object.fromEntries([...others(before), ['id', ownId], ...others(after)]);
          const text = JSON.stringify(object, undefined, space);
          const parsed = JSON.parse(text) as { id: unknown };
          expect(idOf(text, cuts)).toBe(JSON.stringify(parsed.id));
        },
      ),
      { numRuns: 1000 },
    );
  });

  test('tells no id where the top level has none', () => {
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
  ])('tells none for %s', (_, text) => {
    expect(idOf(text)).toBeUndefined();
  });

  test('survives any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const message = new OversizedMessage();
        message.feed(bytes);
        expect(message.size).toBe(bytes.length);
      }),
    );
  });

  test("gives no id for a server's own request, whose id says nothing about a call of ours", () => {
    for (const text of ['{"id":7,"method":"x"}', '{"method":"x","params":{},"id":7}']) {
      const message = new OversizedMessage();
      message.feed(Buffer.from(text));
      expect(message.id).toBeUndefined();
      expect(message.requestId).toBe('7');
    }
  });

  test('gives the id of an answer as that of no request', () => {
    const message = new OversizedMessage();
    message.feed(Buffer.from('{"id":7,"result":{}}'));
    expect(message.id).toBe('7');
    expect(message.requestId).toBeUndefined();
  });
});
