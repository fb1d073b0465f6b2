// Decoding of names in messages, such as tool names: equal bytes give the same string.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CallNames } from '../../../../../actors/mcp/clients/call-names.ts';

test('a tool name is decoded correctly, regardless of other names in the cache', () => {
  const names = new CallNames((raw) => JSON.parse(raw) as string);
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 80 }), { minLength: 1 }), (texts) => {
      for (const text of [...texts, ...texts]) {
        const raw = JSON.stringify(text);
        const bytes = Buffer.from(`{"name":${raw}}`);
        const start = '{"name":'.length;
        expect(names.of(bytes, { start, end: start + Buffer.byteLength(raw) })).toBe(text);
      }
    }),
  );
});

test('equal tool names are decoded once, and the cache does not retain the received message', () => {
  let decoded = 0;
  const names = new CallNames((raw) => {
    decoded += 1;
    return raw;
  });
  const bytes = Buffer.from('"read_file"');
  for (let round = 0; round < 3; round += 1) names.of(bytes, { start: 0, end: bytes.length });
  bytes.fill(0);
  expect(names.of(Buffer.from('"read_file"'), { start: 0, end: bytes.length })).toBe('"read_file"');
  expect(decoded).toBe(1);
});
