import fc from 'fast-check';
import { expect, test } from 'vitest';
import { path } from '../../../../libs/rest/path.ts';

test('the template tag `path` encodes any value as one URL segment, which decodes to the same value', () => {
  const value = fc.string({ unit: 'grapheme' }).filter((text) => !/^\.{0,2}$/.test(text));
  fc.assert(
    fc.property(value, value, (first, second) => {
      const { pathname, search, hash } = new URL(`http://host.example/base${path`/a/${first}/b${second}/c`}`);
      expect(pathname.split('/').map(decodeURIComponent)).toEqual([
        '',
        'base',
        'a',
        first,
        `b${second}`,
        'c',
      ]);
      expect(search + hash).toBe('');
    }),
  );
});

test.each(['', '.', '..', 'a\ud800'])('the value "%s" would change the path and is refused', (value) => {
  expect(() => path`/a/${value}/b`).toThrow(RangeError);
});
