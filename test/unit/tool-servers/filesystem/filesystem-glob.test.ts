import { describe, expect, test } from 'vitest';
import { MAX_PATTERN_CHARS, MAX_PATTERNS_CHARS } from '../../../../tool-servers/filesystem/limits.ts';
import { compileGlobs, isPlainName } from '../../../../tool-servers/filesystem/paths/glob.ts';

const matches = (pattern: string, path: string) => compileGlobs([pattern])(path);

describe('a glob', () => {
  test.each([
    ['*.ts', 'deep/in/it/main.ts'],
    ['*.ts', '.hidden.ts'],
    ['node_modules', 'a/node_modules'],
    ['src/*.ts', 'src/main.ts'],
    ['./src/*.ts', 'src/main.ts'],
    ['**/*.ts', 'main.ts'],
    ['**/*.ts', 'a/b/main.ts'],
    ['src/**/test/*.ts', 'src/test/a.ts'],
    ['src/**/test/*.ts', 'src/x/y/test/a.ts'],
    ['dist/', 'a/dist'],
    ['docs/**', 'docs'],
    ['docs/**', 'docs/a/b'],
    ['[!a]*', 'b'],
    ['[^a]*', 'b'],
    ['[]x]', ']'],
    ['[x', '[x'],
    ['*.{ts,tsx}', 'a/b.tsx'],
    ['{src,test}/**/*.{js,ts}', 'test/a/b.js'],
    ['{a,b{c,d}}', 'bd'],
    ['{one}', '{one}'],
    ['a{', 'a{'],
    ['\\*.md', '*.md'],
    ['*(1).txt', 'copy (1).txt'],
    ['?', '😀'],
    ['caf\u00e9', 'cafe\u0301'],
  ])('%s matches %s', (pattern, path) => {
    expect(matches(pattern, path)).toBe(true);
  });

  test.each([
    ['*.ts', 'main.tsx'],
    ['*.ts', 'main.TS'],
    ['src/*.ts', 'src/deep/main.ts'],
    ['src/*.ts', 'other/src/main.ts'],
    ['[!a]*', 'a'],
    ['\\*.md', 'a.md'],
    ['?', ''],
    ['a?c', 'a/c'],
    ['!a', 'b'],
  ])('%s does not match %s', (pattern, path) => {
    expect(matches(pattern, path)).toBe(false);
  });

  test('list without patterns matches no path', () => {
    expect(compileGlobs([])('a')).toBe(false);
  });

  test.each([
    ['/etc/*', 'relative'],
    ['../*', 'leaves the folder'],
    ['a/../../b', 'leaves the folder'],
    ['/', 'relative'],
    ['x'.repeat(MAX_PATTERN_CHARS + 1), String(MAX_PATTERN_CHARS)],
  ])('%s is refused with the reason', (pattern, reason) => {
    expect(() => compileGlobs([pattern])).toThrow(reason);
  });

  test('has a bounded number of alternatives', () => {
    expect(matches('{a,b}'.repeat(50), 'ab'.repeat(25))).toBe(true);
    expect(matches('{a,b}'.repeat(50), 'ab'.repeat(26))).toBe(false);
  });

  test('in a list that is too long is refused', () => {
    const patterns = Array.from({ length: 17 }, () => 'a'.repeat(241));
    expect(() => compileGlobs(patterns)).toThrow(String(MAX_PATTERNS_CHARS));
    expect(compileGlobs(patterns.slice(1))('a'.repeat(241))).toBe(true);
  });

  test('is distinguished from a plain name', () => {
    expect(isPlainName('report.md')).toBe(true);
    for (const pattern of ['*.md', 'a?', 'a/b', '[ab]', '{a,b}', '\\*'])
      expect(isPlainName(pattern)).toBe(false);
  });
});
