// Globs of paths and of git refs, compared with the library picomatch. Any text is a valid glob, and matching
// takes little time for any glob and text.

import fc from 'fast-check';
import picomatch from 'picomatch';
import { expect, test } from 'vitest';
import { compileGlobs, type GlobOptions } from '../../../../libs/globs/glob.ts';
import { pathGlob, somePath } from '../../../fixtures/globs/path-globs.ts';

const matches = (pattern: string, text: string, kind: GlobOptions['kind'] = 'path') =>
  compileGlobs([pattern], { kind })(text);

test('globs for paths and git refs match like picomatch', () => {
  fc.assert(
    fc.property(pathGlob, somePath, (pattern, path) => {
      const expected = picomatch.isMatch(path, pattern, { dot: true, noextglob: true, nonegate: true });
      expect(matches(pattern, path)).toBe(expected);
      expect(matches(pattern, path, 'ref')).toBe(expected);
    }),
    { numRuns: 1_500 },
  );
});

// Glob, path, expected match.
test.each([
  ['docs/**', 'docs', true],
  ['docs/**', 'docs/a/b', true],
  ['docs/**/**', 'docs', true],
  ['docs/**', 'docsa', false],
  ['**', 'a/b', true],
  ['**/x', 'x', true],
  ['**/x', 'ax', false],
  ['a/**/**/b', 'a/b', true],
  ['{src,test}/**/*.{js,ts}', 'test/a/b.js', true],
  ['{src,**}/a', 'x/y/a', true],
  ['{a/**,b}', 'a', true],
  ['{a/**,b}', 'a/x/y', true],
  ['{a/,b/**/}c', 'b/x/c', true],
  ['a[/]b', 'a/b', false],
  ['a[+-9]b', 'a/b', false],
  ['a[!x]b', 'a/b', false],
  ['a**b', 'axxb', true],
  ['a**b', 'ax/xb', false],
])('the path glob %s on the path %s matches: %s', (pattern, path, expected) => {
  expect(matches(pattern, path)).toBe(expected);
});

// `pathGlob` above generates `**` only as a whole segment.
test('** within a segment of a glob for git refs matches slashes', () => {
  expect(matches('release**', 'release/1/2', 'ref')).toBe(true);
  expect(matches('**-alpha', 'a/b-alpha', 'ref')).toBe(true);
  expect(matches('release*', 'release/1', 'ref')).toBe(false);
});

test('a compiled list of globs matches if one of them matches; an empty list matches nothing', () => {
  const isMatch = compileGlobs(['a', 'b/*'], { kind: 'path', isCaseless: true });
  expect(['A', 'b/C', 'ab', 'a/b/c'].map(isMatch)).toEqual([true, true, false, false]);
  expect(compileGlobs([], { kind: 'path' })('')).toBe(false);
});

test('any text is a valid glob for texts, paths and refs', () => {
  const specialText = fc.string({ unit: fc.constantFrom(...'{},[]*?\\!-/a.😀\ud800') });
  fc.assert(
    fc.property(specialText, specialText, fc.constantFrom('text', 'path', 'ref'), (pattern, text, kind) => {
      compileGlobs([pattern], { kind } as GlobOptions)(text);
      // A glob with a backslash before every character matches the text itself.
      const escaped = Array.from(text, (character) => `\\${character}`).join('');
      expect(matches(escaped, text, kind as GlobOptions['kind'])).toBe(true);
    }),
  );
});

test('a match of a path with a glob takes little time, for any glob and text', () => {
  const slowGlob = fc
    .array(fc.constantFrom('*', 'a', '?', '[a-z]', '**/', '{a,b}'), { minLength: 20, maxLength: 50 })
    .map((pieces) => pieces.join('').replace(/\/+$/, 'b'));
  /** Path segment lengths. */
  const segmentLengths = fc.array(fc.integer({ min: 1, max: 255 }), { minLength: 1, maxLength: 16 });
  fc.assert(
    fc.property(
      slowGlob,
      segmentLengths,
      fc.constantFrom('text', 'path', 'ref'),
      (pattern, lengths, kind) => {
        const text = lengths.map((length) => 'a'.repeat(length)).join('/');
        const startedAt = performance.now();
        matches(pattern, text, kind as GlobOptions['kind']);
        expect(performance.now() - startedAt).toBeLessThan(5_000);
      },
    ),
    { numRuns: 100 },
  );
});
