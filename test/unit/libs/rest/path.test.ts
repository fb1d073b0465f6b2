import fc from 'fast-check';
import { expect, test } from 'vitest';
import { path } from '../../../../libs/rest/path.ts';

test('every value stays the segment it was put into, as it is (PA1)', () => {
  const value = fc.string({ unit: 'grapheme' }).filter((text) => !/^\.{0,2}$/.test(text));
  fc.assert(
    fc.property(value, value, (one, two) => {
      const { pathname, search, hash } = new URL(`http://host.example/base${path`/a/${one}/b${two}/c`}`);
      expect(pathname.split('/').map(decodeURIComponent)).toEqual(['', 'base', 'a', one, `b${two}`, 'c']);
      expect(search + hash).toBe('');
    }),
  );
});

test.each(['', '.', '..', 'a\ud800'])('a value "%s" would lead elsewhere and is refused', (value) => {
  expect(() => path`/a/${value}/b`).toThrow(RangeError);
});
