// Texts of the filesystem server: partial reads, edits and searches, compared with operations on the whole
// text.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyEdits } from '../../../tool-servers/filesystem/text/edits.ts';
import { readTextPart } from '../../../tool-servers/filesystem/text/partial-read.ts';
import { findOccurrences } from '../../../tool-servers/filesystem/text/search.ts';

const arbText = fc
  .array(fc.constantFrom('a', 'bc', 'ü', '€', '😀', '\n', '\r\n', ' '), { maxLength: 60 })
  .map((pieces) => pieces.join(''));

/** A file with this text. A read returns a maximum of 7 bytes, as an operating system may do. */
function fileOf(text: string) {
  const bytes = Buffer.from(text);
  const handle = {
    read: async (buffer: Uint8Array, offset: number, length: number, position: number) => ({
      bytesRead: bytes.copy(buffer, offset, position, Math.min(position + Math.min(length, 7), bytes.length)),
      buffer,
    }),
  };
  return { path: '/f', sizeBytes: bytes.length, handle: handle as never };
}

describe('parts of a text', () => {
  test('yield the whole file if each next read uses the offset in the note of the previous part', async () => {
    // A part that ends before the file ends has a note with the offset of the next part.
    await fc.assert(
      fc.asyncProperty(arbText, fc.integer({ min: 1, max: 20 }), async (text, length) => {
        const file = fileOf(text);
        let read = '';
        let offset: number | undefined = 0;
        while (offset !== undefined) {
          const part = await readTextPart(file, { offset, length }, 1_000);
          read += part.text;
          const next = /starts at offset (\d+)/.exec(part.note ?? '')?.[1];
          expect(next === undefined || Number(next) > offset).toBe(true);
          offset = next === undefined ? undefined : Number(next);
        }
        expect(read).toBe(text);
      }),
    );
  });

  test('read with head or tail are whole, unchanged lines', async () => {
    await fc.assert(
      fc.asyncProperty(arbText, fc.integer({ min: 1, max: 8 }), async (text, count) => {
        const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
        const head = await readTextPart(fileOf(text), { head: count }, 1_000);
        const tail = await readTextPart(fileOf(text), { tail: count }, 1_000);
        expect(head.text).toBe(lines.slice(0, count).join(''));
        expect(tail.text).toBe(lines.slice(-count).join(''));
      }),
    );
  });

  test('stay within the byte limit, except for the remaining bytes of their last character', async () => {
    const arbPart = fc.constantFrom({}, { head: 100 }, { tail: 100 }, { offset: 3 }, { length: 900 });
    await fc.assert(
      fc.asyncProperty(arbText, arbPart, fc.integer({ min: 4, max: 40 }), async (text, options, maxBytes) => {
        // An offset of 3 must be within the text.
        fc.pre(Buffer.byteLength(text) >= 3);
        const { text: part, bytes } = await readTextPart(fileOf(text), options, maxBytes);
        expect(Buffer.byteLength(part)).toBe(bytes);
        // A character has up to 4 bytes.
        expect(bytes).toBeLessThanOrEqual(maxBytes + 3);
        expect(text).toContain(part);
      }),
    );
  });
});

test('a read with tail is refused for a file that is shorter than its reported size, with the remedy', async () => {
  const handle = { read: async (buffer: Uint8Array) => ({ bytesRead: 0, buffer }) };
  const file = { path: '/f', sizeBytes: 4_096, handle: handle as never };
  await expect(readTextPart(file, { tail: 1 }, 1_000)).rejects.toThrow('read it without tail');
});

describe('an edit', () => {
  const { signal } = new AbortController();

  test('replaces the old text and keeps every other byte, including line endings', async () => {
    await fc.assert(
      fc.asyncProperty(arbText, arbText, fc.boolean(), async (before, after, hasOnlyLineFeeds) => {
        const old = '<<one\r\ntwo>>';
        // The caller may write line feeds only. The new text gets the line endings of the old text.
        const oldText = hasOnlyLineFeeds ? old.replaceAll('\r\n', '\n') : old;
        const edits = [{ oldText, newText: 'new\nline' }];
        expect(await applyEdits(before + old + after, edits, signal)).toBe(`${before}new\r\nline${after}`);
      }),
    );
  });

  test('is applied at exactly one place or not at all', async () => {
    const arbOldText = fc.constantFrom('a', 'bc', 'a\n', 'üa', '\n');
    await fc.assert(
      fc.asyncProperty(arbText, arbOldText, async (text, oldText) => {
        // The comparison ignores the kind of line endings.
        const withLineFeeds = text.replaceAll('\r\n', '\n');
        const expected = withLineFeeds.replace(oldText, 'X');
        const count = allIndexes(withLineFeeds, oldText).length;
        const edited = applyEdits(text, [{ oldText, newText: 'X' }], signal);
        if (count === 1) expect((await edited).replaceAll('\r\n', '\n')).toBe(expected);
        else await expect(edited).rejects.toThrow(count === 0 ? 'was not found' : 'times');
      }),
    );
  });

  test('in a list of edits applies to the result of the edits before it', async () => {
    const edit = fc.record({ oldText: fc.constantFrom('a', 'bc', 'a\n', '\n', 'ü'), newText: arbText });
    await fc.assert(
      fc.asyncProperty(arbText, fc.array(edit, { minLength: 1, maxLength: 4 }), async (text, edits) => {
        // Undefined after a refused edit, empty if the edits removed all text. Then the loop skips the other
        // edits.
        let oneByOne: string | undefined = text;
        for (const each of edits)
          oneByOne &&= await applyEdits(oneByOne, [each], signal).catch(() => undefined);
        const together = await applyEdits(text, edits, signal).catch(() => undefined);
        expect(together ?? '').toBe(oneByOne ?? '');
      }),
    );
  });
});

describe('the occurrences of a search text', () => {
  test('equal the results of a plain search, also for very long texts', () => {
    // Few letters, so that occurrences overlap.
    const arbLetters = fc
      .array(fc.constantFrom('a', 'aa', 'b'), { maxLength: 30 })
      .map((all) => all.join(''));
    fc.assert(
      fc.property(arbLetters, arbLetters, fc.integer({ min: 0, max: 400 }), (text, start, repetitions) => {
        const term = `${start}${'a'.repeat(repetitions)}` || 'a';
        const all = `${text}${term}${text}a${term}`;
        expect(findOccurrences(all, term, Number.POSITIVE_INFINITY)).toEqual(allIndexes(all, term));
      }),
    );
  });
});

/** Returns all positions of the term, including overlapping positions. */
function allIndexes(text: string, term: string): number[] {
  const indexes: number[] = [];
  for (let at = text.indexOf(term); at >= 0; at = text.indexOf(term, at + 1)) indexes.push(at);
  return indexes;
}
