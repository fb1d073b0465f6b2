import { describe, expect, test } from 'vitest';
import { MAX_DIFF_CHARS } from '../../tool-servers/filesystem/limits.ts';
import { applyEdits, unifiedDiff } from '../../tool-servers/filesystem/text-edits.ts';

describe('edits', () => {
  test('are made in order, each on what the one before left', () => {
    const edits = [
      { oldText: 'one', newText: 'two' },
      { oldText: 'two', newText: 'three' },
    ];
    expect(applyEdits('one', edits)).toBe('three');
  });

  test('take signs of replacement patterns as they are', () => {
    expect(applyEdits('price', [{ oldText: 'price', newText: "$& $1 $$ $'" }])).toBe("$& $1 $$ $'");
  });

  test('delete with an empty new text', () => {
    expect(applyEdits('keep, drop', [{ oldText: ', drop', newText: '' }])).toBe('keep');
  });

  test('an ambiguous old text says how often and where it stands', () => {
    expect(() => applyEdits('x\ny\nx\n', [{ oldText: 'x', newText: 'z' }])).toThrow(
      'oldText of edit 1 is found 2 times (lines 1, 3). Nothing was changed.',
    );
    expect(() => applyEdits('x'.repeat(100), [{ oldText: 'x', newText: 'z' }])).toThrow('more than 20 times');
  });

  test('overlapping places count as several', () => {
    expect(() => applyEdits('aaa', [{ oldText: 'aa', newText: 'b' }])).toThrow('2 times');
  });

  test('a missing old text says whether only white space differs', () => {
    expect(() =>
      applyEdits('a\n\tif (x)\n\t\ty()\n', [{ oldText: '  if (x)\n    y()', newText: '' }]),
    ).toThrow('from line 2 on differs in white space only');
    const edits = [
      { oldText: 'a', newText: 'b' },
      { oldText: 'a', newText: 'c' },
    ];
    expect(() => applyEdits('a', edits)).toThrow('oldText of edit 2 is not found after the edits before it.');
  });

  test('an edit that changes nothing is refused', () => {
    expect(() => applyEdits('a', [{ oldText: 'a', newText: 'a' }])).toThrow('are the same');
  });

  test('a file of one line takes line endings as they are given', () => {
    expect(applyEdits('a', [{ oldText: 'a', newText: 'b\r\nc' }])).toBe('b\r\nc');
  });
});

describe('a diff', () => {
  test('is a unified one with both names', () => {
    expect(unifiedDiff('/f', 'a\nb\n', 'a\nc\n')).toBe('--- /f\n+++ /f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n');
  });

  test('of nothing says so', () => {
    expect(unifiedDiff('/f', 'a', 'a')).toBe('The edits leave /f as it is.');
  });

  test('is cut where it would be too long, and says so', () => {
    const diff = unifiedDiff('/f', 'a', `${'x'.repeat(MAX_DIFF_CHARS)}`);
    expect(diff.length).toBeLessThan(MAX_DIFF_CHARS + 100);
    expect(diff).toMatch(/the rest is left out\)$/);
  });
});
