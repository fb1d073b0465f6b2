import { describe, expect, test } from 'vitest';
import { MAX_DIFF_CHARS } from '../../../../tool-servers/filesystem/limits.ts';
import { applyEdits, type TextEdit, unifiedDiff } from '../../../../tool-servers/filesystem/text/edits.ts';

const edited = (before: string, edits: readonly TextEdit[]) =>
  applyEdits(before, edits, new AbortController().signal);

describe('text edits', () => {
  test('apply in order, each to the result of the previous edit', async () => {
    const edits = [
      { oldText: 'one', newText: 'two' },
      { oldText: 'two', newText: 'three' },
    ];
    expect(await edited('one', edits)).toBe('three');
  });

  test('insert replacement patterns literally', async () => {
    expect(await edited('price', [{ oldText: 'price', newText: "$& $1 $$ $'" }])).toBe("$& $1 $$ $'");
  });

  test('delete with an empty new text', async () => {
    expect(await edited('keep, drop', [{ oldText: ', drop', newText: '' }])).toBe('keep');
  });

  test('report an ambiguous old text with count and lines', async () => {
    await expect(edited('x\ny\nx\n', [{ oldText: 'x', newText: 'z' }])).rejects.toThrow(
      'oldText of edit 1 occurs 2 times (lines 1, 3). Nothing was changed.',
    );
    await expect(edited('x'.repeat(100), [{ oldText: 'x', newText: 'z' }])).rejects.toThrow(
      'more than 20 times',
    );
  });

  test('count overlapping matches', async () => {
    await expect(edited('aaa', [{ oldText: 'aa', newText: 'b' }])).rejects.toThrow('2 times');
  });

  test('report a missing old text, and whether only whitespace differs', async () => {
    await expect(
      edited('a\n\tif (x)\n\t\ty()\n', [{ oldText: '  if (x)\n    y()', newText: '' }]),
    ).rejects.toThrow('from line 2 differs in white space only');
    const edits = [
      { oldText: 'a', newText: 'b' },
      { oldText: 'a', newText: 'c' },
    ];
    await expect(edited('a', edits)).rejects.toThrow(
      'oldText of edit 2 was not found after the edits before it.',
    );
  });

  test('refuse an edit without a change', async () => {
    await expect(edited('a', [{ oldText: 'a', newText: 'a' }])).rejects.toThrow('are the same');
  });

  test('of a one-line file keep the given line endings', async () => {
    expect(await edited('a', [{ oldText: 'a', newText: 'b\r\nc' }])).toBe('b\r\nc');
  });
});

describe('edits of a large text', () => {
  const before = Array.from({ length: 100_000 }, (_, index) => `line ${index}\r\n`).join('');
  const editsOf = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      oldText: `line ${99_000 + index}\n`,
      newText: `changed ${index}\n`,
    }));
  /** Returns the processor time of the best of three runs, which other load affects least. */
  const durationOf = async (work: () => Promise<unknown>) => {
    let best = Number.POSITIVE_INFINITY;
    for (let run = 0; run < 3; run++) {
      const start = process.cpuUsage();
      await work().catch(() => {});
      const { user, system } = process.cpuUsage(start);
      best = Math.min(best, user + system);
    }
    return best;
  };

  test('do not take quadratic time', async () => {
    const loose = (factor: number) => {
      const oldText = `${'a\n'.repeat(factor * 2_500)} b`;
      return durationOf(() => edited('a\n'.repeat(factor * 50_000), [{ oldText, newText: '' }]));
    };
    const exact = (factor: number) => {
      const oldText = `${'a'.repeat(factor * 250)}b${'a'.repeat(factor * 5_000)}`;
      return durationOf(() => edited('a'.repeat(factor * 250_000), [{ oldText, newText: '' }]));
    };
    // Four times the size takes four times as long, not sixteen times.
    expect(await loose(4)).toBeLessThan(10 * (await loose(1)));
    expect(await exact(4)).toBeLessThan(10 * (await exact(1)));
  });

  test('split the text once, however many they are', async () => {
    const oneEditMs = await durationOf(() => edited(before, editsOf(1)));
    expect(await durationOf(() => edited(before, editsOf(100)))).toBeLessThan(40 * oneEditMs);
  });

  test('end when they are cancelled', async () => {
    const cancelled = new AbortController();
    const editing = applyEdits(before, editsOf(100), cancelled.signal);
    cancelled.abort(new Error('no longer wanted'));
    await expect(editing).rejects.toThrow('no longer wanted');
  });
});

describe('a diff', () => {
  test('is unified, with both names', () => {
    expect(unifiedDiff('/f', 'a\nb\n', 'a\nc\n')).toBe('--- /f\n+++ /f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n');
  });

  test('without changes says so', () => {
    expect(unifiedDiff('/f', 'a', 'a')).toBe('The edits do not change /f.');
  });

  test('is truncated above its limit, with a notice', () => {
    const diff = unifiedDiff('/f', 'a', `${'x'.repeat(MAX_DIFF_CHARS)}`);
    expect(diff.length).toBeLessThan(MAX_DIFF_CHARS + 100);
    expect(diff).toMatch(/the rest is omitted\)$/);
  });
});
