// Reading of members from large JSON without parsing the whole text. The result is equal to JSON.parse, and
// the scan does not block the event loop.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { OverloadedError } from '../../../../../actors/base/errors/errors.ts';
import {
  isLargeJson,
  membersAt,
  spansOf,
  textOfJson,
} from '../../../../../actors/platforms/payloads/large-json.ts';
import { memberOf } from '../../../../../actors/platforms/payloads/payload-member.ts';

const names = ['a', 'b', 'é', '__proto__', 'a b', '0'];
/** Any JSON value with members of these names. */
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(fc.integer(), fc.string(), fc.constant(null), fc.constant(1.5), fc.boolean()),
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.array(fc.tuple(fc.constantFrom(...names), tie('tree')), { maxLength: 5 }).map(Object.fromEntries),
  ),
}));
const anyPath = fc
  .array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 })
  .map((path) => path.join('.'));

test('reading paths of large JSON returns the values that a parser finds', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom(...names), tree), { maxLength: 6 }).map(Object.fromEntries),
      fc.uniqueArray(anyPath, { maxLength: 5 }),
      fc.constantFrom(undefined, 2),
      fc.constantFrom('', '\ufeff'),
      async (value: unknown, paths, indent, byteOrderMark) => {
        const bytes = Buffer.from(byteOrderMark + JSON.stringify(value, undefined, indent));
        const spans = await spansOf(bytes, paths);
        const found = membersAt(bytes, spans ?? {});
        for (const path of paths) {
          const expected = memberOf(value, path);
          const isObject = typeof expected === 'object' && expected !== null && !Array.isArray(expected);
          // An object contains only the members on requested paths, so it is not compared.
          if (!isObject) expect(memberOf(found, path)).toEqual(expected);
        }
      },
    ),
    { numRuns: 500 },
  );
});

test('scanning large JSON accepts exactly the JSON that a parser accepts', async () => {
  await fc.assert(
    fc.asyncProperty(
      tree,
      fc.nat(),
      fc.constantFrom('', ',', '"', '}', '\\', '\n', 'e'),
      async (value, n, inserted) => {
        const text = JSON.stringify({ value });
        const index = n % (text.length + 1);
        // Replaces a character if the number is odd.
        const edited = text.slice(0, index) + inserted + text.slice(index + (n % 2));
        let isJson = true;
        try {
          JSON.parse(edited);
        } catch {
          isJson = false;
        }
        expect((await spansOf(Buffer.from(edited), ['value'])) !== undefined).toBe(isJson);
      },
    ),
    { numRuns: 500 },
  );
});

test('scanning large JSON yields to the event loop and parses no large text', async () => {
  const items = Array.from({ length: 60_000 }, (_, n) => ({
    n,
    note: 'something in here, and some more of it',
  }));
  const bytes = Buffer.from(JSON.stringify({ items, of: { id: 'x' } }));
  expect(isLargeJson(bytes)).toBe(true);
  /** Event loop iterations per scan. */
  let loopTurns = 0;
  let isScanned = false;
  const count = (): void => {
    loopTurns += 1;
    if (!isScanned) setImmediate(count);
  };
  setImmediate(count);
  const { parse } = JSON;
  /** Length of the longest text that was parsed. */
  let longest = 0;
  JSON.parse = (text: string) => {
    longest = Math.max(longest, text.length);
    return parse(text) as unknown;
  };
  try {
    const spans = await spansOf(bytes, ['of.id', 'items']);
    isScanned = true;
    expect(loopTurns).toBeGreaterThan(20);
    expect(memberOf(membersAt(bytes, spans ?? {}), 'of.id')).toBe('x');
    // Large lists are omitted.
    expect(spans?.items).toBeUndefined();
  } finally {
    JSON.parse = parse;
  }
  expect(longest).toBeLessThan(100);
});

test('a member of large JSON is parsed only when it is accessed, and invalid UTF-8 is replaced as by a parser', async () => {
  const bytes = Buffer.from('{"text":"a","more":"\u00e9"}');
  const spans = await spansOf(bytes, ['text', 'more']);
  const members = membersAt(bytes, spans ?? {});
  // A changed buffer shows that the member was not parsed before.
  bytes.write('b', bytes.indexOf('"a"') + 1);
  expect(memberOf(members, 'text')).toBe('b');
  expect(textOfJson(bytes)).toBe(bytes);
  const invalidUtf8 = Buffer.concat([Buffer.from('{"text":"'), Buffer.from([0xff]), Buffer.from('"}')]);
  expect(Buffer.from(textOfJson(invalidUtf8)).toString()).toBe('{"text":"\ufffd"}');
});

test('concurrent scans of large JSON are limited in total bytes, which are released after each scan', async () => {
  const bytes = Buffer.alloc(40 * 1024 * 1024, ' ');
  bytes.write('{"id":1', 0);
  bytes.write('}', bytes.length - 1);
  const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => spansOf(bytes, ['id'])));
  const rejections = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  // Three scans of 40 MiB are within the limit, the fourth is not.
  expect(rejections).toEqual([expect.any(OverloadedError)]);
  expect(await spansOf(bytes, ['id'])).toEqual({ id: [6, 7] });
});

test('large JSON after a byte order mark is recognised as large JSON, and its text does not contain the mark', () => {
  const text = JSON.stringify({ text: 'x'.repeat(300_000) });
  expect(isLargeJson(Buffer.from(`\ufeff${text}`))).toBe(true);
  expect(Buffer.from(textOfJson(Buffer.from(`\ufeff${text}`))).toString()).toBe(text);
});
