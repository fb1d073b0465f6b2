import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileGlobs } from '../../../../libs/globs/glob.ts';

const namePattern = (pattern: string) => compileGlobs([pattern], { kind: 'text' });

/** A pattern and the equivalent regular expression, whose backtracking is harmless for short names. */
interface Both {
  readonly pattern: string;
  readonly source: string;
}

const text = fc.constantFrom('a', 'b', 'ab', '-', '/', '.', '😀', 'ü', ',', '}', ']');
const literal = text.map((text): Both => {
  const pattern = text.replace(/[,}\]]/g, '\\$&');
  return { pattern, source: text.replace(/[.\]}/]/g, '\\$&') };
});
const escaped = fc
  .constantFrom('*', '?', '{', '[', '\\')
  .map((sign): Both => ({ pattern: `\\${sign}`, source: `\\${sign}` }));
const wildcard = fc.constantFrom<Both>(
  { pattern: '*', source: '[^]*' },
  { pattern: '**', source: '[^]*' },
  { pattern: '?', source: '[^]' },
  { pattern: '[ab]', source: '[ab]' },
  { pattern: '[!ab]', source: '[^ab]' },
  { pattern: '[^a-z]', source: '[^a-z]' },
  { pattern: '[a-b-]', source: '[a-b-]' },
  { pattern: '[]a]', source: '[\\]a]' },
);
const { whole } = fc.letrec<{ whole: Both; choices: Both; part: Both }>((tie) => ({
  whole: fc.array(tie('part'), { maxLength: 6 }).map((parts) => ({
    pattern: parts.map(({ pattern }) => pattern).join(''),
    source: parts.map(({ source }) => source).join(''),
  })),
  choices: fc.array(tie('whole'), { minLength: 2, maxLength: 3 }).map((some) => ({
    pattern: `{${some.map(({ pattern }) => pattern).join(',')}}`,
    source: `(?:${some.map(({ source }) => source).join('|')})`,
  })),
  part: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { arbitrary: literal, weight: 3 },
    { arbitrary: wildcard, weight: 3 },
    { arbitrary: escaped, weight: 1 },
    { arbitrary: tie('choices'), weight: 2 },
  ),
}));
const name = fc
  .array(fc.constantFrom('a', 'b', '-', '/', '.', '😀', 'ü', ',', '*', '{', '}', ']', '\\', '\n'), {
    maxLength: 8,
  })
  .map((signs) => signs.join(''));

test('a text pattern matches the same names as the equivalent regular expression', () => {
  let matches = 0;
  fc.assert(
    fc.property(whole, name, ({ pattern, source }, name) => {
      const isMatch = new RegExp(`^(?:${source})$`, 'u').test(name);
      if (isMatch) matches += 1;
      expect(namePattern(pattern)(name)).toBe(isMatch);
    }),
    { numRuns: 5_000 },
  );
  expect(matches).toBeGreaterThan(200);
});

test('any text is a valid pattern, and matches only itself if every character is escaped', () => {
  const odd = fc.string({
    unit: fc.constantFrom('{', '}', ',', '[', ']', '*', '?', '\\', '!', '-', 'a', '😀'),
  });
  fc.assert(
    fc.property(odd, odd, (pattern, name) => {
      namePattern(pattern)(name);
      const exact = namePattern(Array.from(pattern, (sign) => `\\${sign}`).join(''));
      expect(exact(pattern)).toBe(true);
      expect(exact(name)).toBe(name === pattern);
    }),
  );
});

test('a pattern without special meaning matches itself, including unbalanced braces and brackets', () => {
  const plain = fc
    .string({ unit: fc.constantFrom('{', 'a', '[', 'b', ',', '-') })
    .filter((each) => !/\[.*\]/.test(each));
  fc.assert(
    fc.property(plain, (pattern) => {
      expect(namePattern(pattern)(pattern)).toBe(true);
      expect(namePattern(pattern)(`${pattern}x`)).toBe(false);
    }),
  );
});
