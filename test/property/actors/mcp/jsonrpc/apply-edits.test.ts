// Message edits: the result equals string edits in every order, and conflicting edits are rejected.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyEdits } from '../../../../../actors/mcp/jsonrpc/apply-edits.ts';
import { type Edit, isInPieces, toBuffer } from '../../../../../actors/mcp/jsonrpc/span.ts';

const text = fc.string({ unit: 'binary-ascii', maxLength: 90 });
/** Distances in bytes from the previous edit, below and above the thresholds of the copy functions. */
const gap = fc.constantFrom(1, 2, 300, 20_000);
/** Edits in order. An edit replaces `size` bytes by `text`. */
const anyLayout = fc.array(fc.record({ gap, size: fc.constantFrom(0, 1, 5, 400), text }), { maxLength: 6 });

/** Returns a layout's edits, which never touch, and a message for them. */
function editsInLayout(layout: readonly { gap: number; size: number; text: string }[]): {
  bytes: Buffer;
  edits: Edit[];
} {
  let at = 0;
  const edits = layout.map((part) => {
    const start = at + part.gap;
    at = start + part.size;
    return { start, end: at, text: part.text };
  });
  // The letters from `a` to `z`, repeated.
  const bytes = Buffer.from(Array.from({ length: at + 3 }, (_, index) => 97 + (index % 26)));
  return { bytes, edits };
}

/** Applies the edits from the last to the first, so that the earlier positions stay valid. */
function applyToString(bytes: Buffer, edits: readonly Edit[]): string {
  let expected = bytes.toString('latin1');
  for (const { start, end, text: replacement } of [...edits].reverse())
    expected = expected.slice(0, start) + replacement + expected.slice(end);
  return expected;
}

test('byte edits in any order, of a whole or split message, equal edits of its text and leave the input unchanged', () => {
  fc.assert(
    fc.property(anyLayout, fc.nat(), fc.nat({ max: 9 }), (layout, seed, tenths) => {
      const { bytes, edits } = editsInLayout(layout);
      const before = Buffer.from(bytes);
      // Shuffled by pseudo-random keys.
      const shuffled = edits
        .map((edit, index) => ({ edit, key: (seed * (index + 7)) % 101 }))
        .sort((a, b) => a.key - b.key)
        .map(({ edit }) => edit);
      const order = [...shuffled];
      const cut = Math.ceil((bytes.length * tenths) / 10);
      for (const message of [bytes, [bytes.subarray(0, cut), bytes.subarray(cut)]])
        expect(toBuffer(applyEdits(message, shuffled)).toString('latin1')).toBe(applyToString(bytes, edits));
      expect(shuffled).toEqual(order);
      expect(bytes.equals(before)).toBe(true);
    }),
  );
});

test('adjacent edits of a message are valid, in any order', () => {
  const edits = [
    { start: 2, end: 4, text: 'AB' },
    { start: 4, end: 6, text: 'C' },
    { start: 6, end: 6, text: 'D' },
  ];
  for (const all of [edits, edits.toReversed()])
    expect(toBuffer(applyEdits(Buffer.from('0123456789'), all)).toString()).toBe('01ABCD6789');
});

test('edits of a large message do not copy the message', () => {
  const bytes = Buffer.alloc(100_000, 'x');
  const message = applyEdits(bytes, [{ start: 50_000, end: 50_001, text: 'y' }]);
  expect(isInPieces(message) && message.some((piece) => piece.buffer === bytes.buffer)).toBe(true);
});

test('overlapping edits are rejected, in any order and position', () => {
  fc.assert(
    fc.property(anyLayout, fc.nat(), fc.nat(), fc.nat(), text, (layout, index, from, length, replacement) => {
      const { bytes, edits } = editsInLayout([{ gap: 1, size: 5, text: '' }, ...layout]);
      const other = edits[index % edits.length] as Edit;
      // Starts inside the existing edit, or contains its first byte.
      const size = other.end - other.start;
      const inside = { start: other.start + (from % Math.max(1, size)), text: replacement };
      const around = { start: Math.max(0, other.start - 1 - (from % 3)), text: replacement };
      const overlapping = [
        { ...inside, end: Math.min(bytes.length, inside.start + (length % 9)) },
        ...(size === 0 ? [] : [{ ...around, end: other.start + 1 }]),
      ];
      for (const edit of overlapping)
        for (const all of [
          [...edits, edit],
          [edit, ...edits],
        ])
          expect(() => applyEdits(bytes, all)).toThrowError(
            expect.objectContaining({ code: 'ERR_EDIT_CONFLICT', rpcCode: -32603 }),
          );
    }),
  );
});

test.each([
  { start: -1, end: 2 },
  { start: 2, end: 1 },
  { start: 2, end: 11 },
  { start: 11, end: 11 },
  { start: Number.NaN, end: 3 },
  { start: 1, end: Number.NaN },
])('an edit of the span from $start to $end in a message of ten bytes is rejected', (span) => {
  expect(() => applyEdits(Buffer.alloc(10), [{ ...span, text: 'a' }])).toThrowError(
    expect.objectContaining({ code: 'ERR_EDIT_CONFLICT' }),
  );
});
