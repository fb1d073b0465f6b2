// Conversion of script results to text, which runs in the page (result-text.ts). JSON values stay equal,
// other values become valid JSON, and the length is limited. A page cannot replace the limit.

import { runInNewContext, runInThisContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RESULT_TEXT } from '../../../tool-servers/browser/pages/result-text.ts';

const textOf = runInThisContext(RESULT_TEXT) as (value: unknown, maxChars: number) => string;

test('the result text of any JSON value is parsed back to the same value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(JSON.parse(textOf(value, 1_000_000))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

test('the result text of any script value is JSON, or "undefined"', () => {
  fc.assert(
    fc.property(
      fc.anything({
        withBigInt: true,
        withDate: true,
        withMap: true,
        withSet: true,
        withTypedArray: true,
        withNullPrototype: true,
        withSparseArray: true,
      }),
      (value) => {
        const text = textOf(value, 1_000_000);
        if (text !== 'undefined') JSON.parse(text);
      },
    ),
  );
});

/** Maximum length of a truncation notice. */
const MAX_NOTICE_CHARS = 40;

test('a result text exceeds its limit only by the notice of the truncation', () => {
  fc.assert(
    fc.property(fc.anything(), fc.integer({ min: 1, max: 50 }), (value, maxChars) => {
      expect(textOf(value, maxChars).length).toBeLessThanOrEqual(maxChars + MAX_NOTICE_CHARS);
    }),
  );
});

test('the conversion of a script result with cycles terminates, in any structure', () => {
  const list: unknown[] = [];
  const map = new Map<unknown, unknown>([['list', list]]);
  list.push(map, { list });
  expect(JSON.parse(textOf(list, 1000))).toEqual([[['list', '[circular]']], { list: '[circular]' }]);
});

test.each([
  'JSON.stringify = () => "x".repeat(1e6)',
  'String.prototype.slice = () => "x".repeat(1e6)',
  'JSON.stringify = () => ({ length: 1, slice: () => "x".repeat(1e6), toString: () => "x".repeat(1e6) })',
  'JSON.stringify = () => ["x".repeat(1e6)]',
])('a page cannot exceed the limit of a result text by replacing %s', (replacement) => {
  const hostileTextOf = runInNewContext(`${replacement}; ${RESULT_TEXT}`) as typeof textOf;
  for (const value of [1, 'text', { a: 1 }, [1, 2]]) {
    const text = hostileTextOf(value, 1000);
    expect(typeof text).toBe('string');
    expect(text.length).toBeLessThanOrEqual(1000 + MAX_NOTICE_CHARS);
  }
});
