// Parts of a text and edits of it, against what they must mean on the whole text.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyEdits } from '../../tool-servers/filesystem/text-edits.ts';
import { readTextPart } from '../../tool-servers/filesystem/text-part.ts';

const text = fc
  .array(fc.constantFrom('a', 'bc', 'ü', '€', '😀', '\n', '\r\n', ' '), { maxLength: 60 })
  .map((pieces) => pieces.join(''));

function fileOf(text: string) {
  const bytes = Buffer.from(text);
  const handle = {
    // Short reads are allowed to a system.
    read: async (buffer: Uint8Array, offset: number, length: number, position: number) => ({
      bytesRead: bytes.copy(buffer, offset, position, Math.min(position + Math.min(length, 7), bytes.length)),
      buffer,
    }),
  };
  return { path: '/f', sizeBytes: bytes.length, handle: handle as never };
}

describe('parts of a text', () => {
  test('taken one after the other by the offsets the notes name make up the whole file', async () => {
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 20 }), async (text, length) => {
        const file = fileOf(text);
        let read = '';
        let offset: number | undefined = 0;
        while (offset !== undefined) {
          const part = await readTextPart(file, { offset, length }, 1_000);
          read += part.text;
          const next = /begins at offset (\d+)/.exec(part.note ?? '')?.[1];
          expect(next === undefined || Number(next) > offset).toBe(true);
          offset = next === undefined ? undefined : Number(next);
        }
        expect(read).toBe(text);
      }),
    );
  });

  test('head and tail give whole lines, exactly as they stand in the file', async () => {
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 8 }), async (text, count) => {
        const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
        const head = await readTextPart(fileOf(text), { head: count }, 1_000);
        const tail = await readTextPart(fileOf(text), { tail: count }, 1_000);
        expect(head.text).toBe(lines.slice(0, count).join(''));
        expect(tail.text).toBe(lines.slice(-count).join(''));
      }),
    );
  });

  test('never have more bytes than allowed, but for the end of a last character', async () => {
    const wanted = fc.constantFrom({}, { head: 100 }, { tail: 100 }, { offset: 3 }, { length: 900 });
    await fc.assert(
      fc.asyncProperty(text, wanted, fc.integer({ min: 4, max: 40 }), async (text, wanted, maxBytes) => {
        fc.pre(Buffer.byteLength(text) >= 3);
        const { text: part, bytes } = await readTextPart(fileOf(text), wanted, maxBytes);
        expect(Buffer.byteLength(part)).toBe(bytes);
        expect(bytes).toBeLessThanOrEqual(maxBytes + 3);
        expect(text).toContain(part);
      }),
    );
  });
});

describe('an edit', () => {
  test('replaces what was meant and leaves every other byte as it is, line endings included', () => {
    fc.assert(
      fc.property(text, text, fc.boolean(), (before, after, isFlat) => {
        const old = '<<one\r\ntwo>>';
        const given = isFlat ? old.replaceAll('\r\n', '\n') : old;
        const edited = applyEdits(before + old + after, [{ oldText: given, newText: 'new\nline' }]);
        expect(edited).toBe(`${before}new\r\nline${after}`);
      }),
    );
  });

  test('either is made in exactly one place, or nothing is', () => {
    const needle = fc.constantFrom('a', 'bc', 'a\n', 'üa', '\n');
    fc.assert(
      fc.property(text, needle, (text, needle) => {
        const flat = text.replaceAll('\r\n', '\n');
        let count = 0;
        for (let at = flat.indexOf(needle); at >= 0; at = flat.indexOf(needle, at + 1)) count++;
        const edit = () => applyEdits(text, [{ oldText: needle, newText: 'X' }]);
        if (count === 1) expect(edit().replaceAll('\r\n', '\n')).toBe(flat.replace(needle, 'X'));
        else expect(edit).toThrow(count === 0 ? 'is not found' : 'times');
      }),
    );
  });
});
