import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonObjectIn } from '../../../../../actors/platforms/payloads/json-object.ts';

const read = (text: string) => jsonObjectIn(Buffer.from(text));
const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;

test('any JSON object is parsed unchanged, also with brackets in strings', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 8 })), fc.nat(3), (value, times) => {
      const text = JSON.stringify({ ...value, brackets: '"[{\\'.repeat(500 * times) });
      expect(read(text)).toEqual(JSON.parse(text));
    }),
  );
});

test('invalid JSON and JSON values other than objects return undefined', () => {
  for (const text of ['', '{', '[]', 'null', '1', '"a"', '\ufeff', '\ufeff\ufeff{}'])
    expect(read(text)).toBeUndefined();
});

test('a byte order mark before a JSON object is ignored', () => {
  expect(read('\ufeff{"a":1}')).toEqual({ a: 1 });
});

test('JSON objects nested deeper than 256 levels return undefined', () => {
  expect(read(nested(256))).toBeDefined();
  for (const depth of [257, 5_000, 500_000]) expect(read(nested(depth))).toBeUndefined();
  expect(read(`{"a":[${'[],'.repeat(1_000)}0]}`)).toBeDefined();
});
