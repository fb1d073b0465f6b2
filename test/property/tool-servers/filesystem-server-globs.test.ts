import fc from 'fast-check';
import picomatch from 'picomatch';
import { describe, expect, test } from 'vitest';
import { compileGlobs } from '../../../tool-servers/filesystem/paths/glob.ts';

const isDots = (text: string) => /^\.+$/.test(text);
const piece = fc.constantFrom(
  'a',
  'b',
  'ab',
  '*',
  '?',
  '[ab]',
  '[^a]',
  '[a-c]',
  '{a,b}',
  '{ab,b*}',
  '.',
  'é',
);
const segment = fc
  .array(piece, { minLength: 1, maxLength: 5 })
  .map((pieces) => pieces.join(''))
  .filter((text) => !text.includes('**') && !isDots(text));
const pattern = fc
  .tuple(fc.array(fc.oneof(fc.constant('**'), segment, segment), { maxLength: 3 }), segment)
  .map(([before, last]) => [...before, last].join('/'));
const name = fc
  .array(fc.constantFrom('a', 'b', 'c', '.', 'é'), { minLength: 1, maxLength: 5 })
  .map((signs) => signs.join(''))
  .filter((text) => !isDots(text));
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));

describe('a glob', () => {
  test('matches what the usual library matches', () => {
    fc.assert(
      fc.property(pattern, path, (pattern, path) => {
        const options = { dot: true, noextglob: true, nonegate: true, basename: !pattern.includes('/') };
        expect(compileGlobs([pattern])(path)).toBe(picomatch.isMatch(path, pattern, options));
      }),
      { numRuns: 1_500 },
    );
  });

  test('is never more than a moment at work, whatever the pattern and the name', () => {
    const wild = fc
      .array(fc.constantFrom('*', 'a', '?', '[a-z]', '**/'), { minLength: 20, maxLength: 50 })
      .map((pieces) => pieces.join('').replace(/\/+$/, 'b'));
    const long = fc.array(fc.integer({ min: 1, max: 255 }), { minLength: 1, maxLength: 16 });
    fc.assert(
      fc.property(wild, long, (pattern, lengths) => {
        const path = lengths.map((length) => 'a'.repeat(length)).join('/');
        const isWanted = compileGlobs([pattern]);
        const start = performance.now();
        isWanted(path);
        expect(performance.now() - start).toBeLessThan(500);
      }),
      { numRuns: 200 },
    );
  });
});
