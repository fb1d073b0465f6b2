// Glob patterns for texts, for example tool names (glob.ts). Random patterns match the same names as
// equivalent regular expressions. Any text is a valid pattern.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileGlobs } from '../../../../libs/globs/glob.ts';

const matcherOf = (pattern: string) => compileGlobs([pattern], { kind: 'text' });

/** A pattern and the equivalent regular expression, whose backtracking is harmless for short names. */
interface PatternPair {
  readonly pattern: string;
  readonly source: string;
}

const arbText = fc.constantFrom('a', 'b', 'ab', '-', '/', '.', '😀', 'ü', ',', '}', ']');
const arbLiteral = arbText.map((text): PatternPair => {
  const pattern = text.replace(/[,}\]]/g, '\\$&');
  return { pattern, source: text.replace(/[.\]}/]/g, '\\$&') };
});
const arbEscape = fc
  .constantFrom('*', '?', '{', '[', '\\')
  .map((sign): PatternPair => ({ pattern: `\\${sign}`, source: `\\${sign}` }));
const arbWildcard = fc.constantFrom<PatternPair>(
  { pattern: '*', source: '[^]*' },
  { pattern: '**', source: '[^]*' },
  { pattern: '?', source: '[^]' },
  { pattern: '[ab]', source: '[ab]' },
  { pattern: '[!ab]', source: '[^ab]' },
  { pattern: '[^a-z]', source: '[^a-z]' },
  { pattern: '[a-b-]', source: '[a-b-]' },
  { pattern: '[]a]', source: '[\\]a]' },
);
/** A pattern is a sequence of parts. A part may be a choice (`{a,b}`) between patterns. */
const { whole: arbPattern } = fc.letrec<{ whole: PatternPair; choices: PatternPair; part: PatternPair }>(
  (tie) => ({
    whole: fc.array(tie('part'), { maxLength: 6 }).map((parts) => ({
      pattern: parts.map(({ pattern }) => pattern).join(''),
      source: parts.map(({ source }) => source).join(''),
    })),
    choices: fc.array(tie('whole'), { minLength: 2, maxLength: 3 }).map((choices) => ({
      pattern: `{${choices.map(({ pattern }) => pattern).join(',')}}`,
      source: `(?:${choices.map(({ source }) => source).join('|')})`,
    })),
    part: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      { arbitrary: arbLiteral, weight: 3 },
      { arbitrary: arbWildcard, weight: 3 },
      { arbitrary: arbEscape, weight: 1 },
      { arbitrary: tie('choices'), weight: 2 },
    ),
  }),
);
const arbName = fc
  .array(fc.constantFrom('a', 'b', '-', '/', '.', '😀', 'ü', ',', '*', '{', '}', ']', '\\', '\n'), {
    maxLength: 8,
  })
  .map((signs) => signs.join(''));

test('a text pattern matches the same names as the equivalent regular expression', () => {
  let matches = 0;
  fc.assert(
    fc.property(arbPattern, arbName, ({ pattern, source }, name) => {
      const isMatch = new RegExp(`^(?:${source})$`, 'u').test(name);
      if (isMatch) matches += 1;
      expect(matcherOf(pattern)(name)).toBe(isMatch);
    }),
    { numRuns: 5_000 },
  );
  // Enough of the random names match.
  expect(matches).toBeGreaterThan(200);
});

test('any text is a valid pattern, and matches only itself if every character is escaped', () => {
  const arbSpecialText = fc.string({
    unit: fc.constantFrom('{', '}', ',', '[', ']', '*', '?', '\\', '!', '-', 'a', '😀'),
  });
  fc.assert(
    fc.property(arbSpecialText, arbSpecialText, (pattern, name) => {
      // Does not throw.
      matcherOf(pattern)(name);
      const exact = matcherOf(Array.from(pattern, (sign) => `\\${sign}`).join(''));
      expect(exact(pattern)).toBe(true);
      expect(exact(name)).toBe(name === pattern);
    }),
  );
});

test('a pattern without special meaning matches itself, including unbalanced braces and brackets', () => {
  // Without closing braces or character classes, all characters are literal.
  const arbPlainPattern = fc
    .string({ unit: fc.constantFrom('{', 'a', '[', 'b', ',', '-') })
    .filter((each) => !/\[.*\]/.test(each));
  fc.assert(
    fc.property(arbPlainPattern, (pattern) => {
      expect(matcherOf(pattern)(pattern)).toBe(true);
      expect(matcherOf(pattern)(`${pattern}x`)).toBe(false);
    }),
  );
});
