// What bodies are JSON objects (JO1).

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonObjectIn } from '../../../../../actors/platforms/payloads/json-object.ts';

const read = (text: string) => jsonObjectIn(Buffer.from(text));
const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;

test('whatever is an object comes through as it is, brackets within its texts included', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 8 })), fc.nat(3), (value, times) => {
      const text = JSON.stringify({ ...value, brackets: '"[{\\'.repeat(500 * times) });
      expect(read(text)).toEqual(JSON.parse(text));
    }),
  );
});

test('what is no JSON, or no object, is none', () => {
  for (const text of ['', '{', '[]', 'null', '1', '"a"', '\ufeff{}']) expect(read(text)).toBeUndefined();
});

test('what is nested deeper than 256 levels is none, however deep', () => {
  expect(read(nested(256))).toBeDefined();
  for (const depth of [257, 5_000, 500_000]) expect(read(nested(depth))).toBeUndefined();
  expect(read(`{"a":[${'[],'.repeat(1_000)}0]}`)).toBeDefined();
});
