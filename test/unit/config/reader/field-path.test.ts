import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fieldName, joinPath } from '../../../../config/reader/field-path.ts';

test('fieldName returns the last key of any path', () => {
  const key = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom('.', '[', ']', '"', '\\', '0', 'a', '-') }),
  );
  const nonEmpty = key.filter((text) => text !== '');
  fc.assert(
    fc.property(fc.array(key), nonEmpty, fc.array(fc.nat(), { maxLength: 2 }), (around, last, indexes) => {
      const path = [...around, last, ...indexes].reduce<string>(joinPath, '');
      expect(fieldName(path)).toBe(last);
    }),
  );
  expect(fieldName('')).toBe('');
});
