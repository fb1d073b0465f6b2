// Large JSON: what is read of it is what a parser reads, and others have their turn while it is gone over.

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
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(fc.integer(), fc.string(), fc.constant(null), fc.constant(1.5), fc.boolean()),
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.array(fc.tuple(fc.constantFrom(...names), tie('tree')), { maxLength: 5 }).map(Object.fromEntries),
  ),
}));
const path = fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 }).map((all) => all.join('.'));

test('of a list of paths it gives what a parser finds there', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom(...names), tree), { maxLength: 6 }).map(Object.fromEntries),
      fc.uniqueArray(path, { maxLength: 5 }),
      fc.constantFrom(undefined, 2),
      async (value: unknown, paths, indent) => {
        const bytes = Buffer.from(JSON.stringify(value, undefined, indent));
        const spans = await spansOf(bytes, paths);
        const found = membersAt(bytes, spans ?? {});
        for (const each of paths) {
          const expected = memberOf(value, each);
          const isWhole = typeof expected !== 'object' || expected === null || Array.isArray(expected);
          // Of an object that other paths lead into there is only what they lead to.
          if (isWhole) expect(memberOf(found, each)).toEqual(expected);
        }
      },
    ),
    { numRuns: 500 },
  );
});

test('it takes what a parser takes, and nothing else (LJ1)', async () => {
  await fc.assert(
    fc.asyncProperty(
      tree,
      fc.nat(),
      fc.constantFrom('', ',', '"', '}', '\\', '\n', 'e'),
      async (value, at, odd) => {
        const text = JSON.stringify({ value });
        const cut = at % (text.length + 1);
        const tried = text.slice(0, cut) + odd + text.slice(cut + (at % 2));
        let isJson = true;
        try {
          JSON.parse(tried);
        } catch {
          isJson = false;
        }
        expect((await spansOf(Buffer.from(tried), ['value'])) !== undefined).toBe(isJson);
      },
    ),
    { numRuns: 500 },
  );
});

test('others have their turn, again and again, while it is gone over, and nothing large is parsed', async () => {
  const items = Array.from({ length: 60_000 }, (_, n) => ({
    n,
    note: 'something in here, and some more of it',
  }));
  const bytes = Buffer.from(JSON.stringify({ items, of: { id: 'x' } }));
  expect(isLargeJson(bytes)).toBe(true);
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const { parse } = JSON;
  let longest = 0;
  JSON.parse = (text: string) => {
    longest = Math.max(longest, text.length);
    return parse(text) as unknown;
  };
  try {
    const spans = await spansOf(bytes, ['of.id', 'items']);
    isOver = true;
    expect(turns).toBeGreaterThan(20);
    expect(memberOf(membersAt(bytes, spans ?? {}), 'of.id')).toBe('x');
    // A large list is for nobody here.
    expect(spans?.items).toBeUndefined();
  } finally {
    JSON.parse = parse;
  }
  expect(longest).toBeLessThan(100);
});

test('what is read when it is asked for is read no sooner, and bytes that are no UTF-8 are replaced as a parser does', async () => {
  const bytes = Buffer.from('{"text":"a","more":"\u00e9"}');
  const spans = await spansOf(bytes, ['text', 'more']);
  const members = membersAt(bytes, spans ?? {});
  bytes.write('b', bytes.indexOf('"a"') + 1);
  expect(memberOf(members, 'text')).toBe('b');
  expect(textOfJson(bytes)).toBe(bytes);
  const odd = Buffer.concat([Buffer.from('{"text":"'), Buffer.from([0xff]), Buffer.from('"}')]);
  expect(Buffer.from(textOfJson(odd)).toString()).toBe('{"text":"\ufffd"}');
});

test('what is gone over at the same time is bounded in bytes, and given back (LJ2)', async () => {
  const bytes = Buffer.alloc(40 * 1024 * 1024, ' ');
  bytes.write('{"id":1', 0);
  bytes.write('}', bytes.length - 1);
  const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => spansOf(bytes, ['id'])));
  const refused = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  expect(refused).toEqual([expect.any(OverloadedError)]);
  expect(await spansOf(bytes, ['id'])).toEqual({ id: [6, 7] });
});
