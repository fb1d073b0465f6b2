// Texts that are split into messages: arbitrary prose with code blocks, which may be indented, unclosed, or
// contain wide characters. Each part is within the limit of the platform, and code blocks stay readable.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { splitText, type TextUnit } from '../../../../../actors/events/outbox/split-text.ts';

const word = fc.oneof(
  fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
    // Only `block` generates fences.
    .map((text) => text.replace(/[`~\s]/g, 'x') || 'x'),
  fc.constantFrom('👩‍🚀', 'ä', '漢字', 'x'.repeat(150), '💥'.repeat(90), '"\\'.repeat(40)),
);
const line = fc.array(word, { maxLength: 20 }).map((words) => words.join(' '));
const prose = fc.array(line, { maxLength: 6 }).map((lines) => lines.join('\n'));
/** A code block: indent, fence, info string, lines, and a closing fence or none. */
const block = fc
  .tuple(
    fc.constantFrom('', '  ', '      '),
    fc.constantFrom('```', '````', '~~~'),
    fc.constantFrom('', 'js', 'python title="a b"'),
    fc.array(
      fc.tuple(fc.constantFrom('', '  ', '\t\t'), line).map(([indent, text]) => indent + text),
      { maxLength: 25 },
    ),
    fc.boolean(),
  )
  .map(([indent, marks, info, lines, isClosed]) =>
    [`${indent}${marks}${info}`, ...lines, ...(isClosed ? [`${indent}${marks}`] : [])].join('\n'),
  );
const text = fc.array(fc.oneof(prose, block), { maxLength: 8 }).map((pieces) => pieces.join('\n\n'));

const limits = {
  limit: fc.integer({ min: 200, max: 600 }),
  unit: fc.constantFrom<TextUnit>('utf16', 'utf8', 'json'),
};
const options = fc.record(limits);
/** `markSpace` is reserved in the first part, for a mark of the sender. */
const optionsWithMark = fc.record({ ...limits, markSpace: fc.integer({ min: 0, max: 10 }) });

/** Returns the size of the text in the unit. `json` counts the bytes within the quotes. */
const sizeOf = (part: string, unit: TextUnit) => {
  if (unit === 'utf16') return part.length;
  return Buffer.byteLength(unit === 'utf8' ? part : JSON.stringify(part).slice(1, -1));
};

const isFenceLine = (each: string) => /^\s*(```|~~~)/.test(each);

/** Returns the text without blanks and fences. */
const textWithoutFences = (texts: readonly string[]) =>
  texts
    .flatMap((each) => each.split('\n'))
    .filter((each) => !isFenceLine(each))
    .join('')
    .replace(/\s+/g, '');

/**
 * Returns the first line of the code block that is open at the end of the part. `openAtStart` is the first
 * line of a block that is open at the start.
 */
function openAtEnd(part: string, openAtStart?: string): string | undefined {
  let open = openAtStart;
  for (const each of part.split('\n')) {
    const fence = /^\s*(`{3,}|~{3,})/.exec(each)?.[1];
    if (fence === undefined) continue;
    if (open === undefined) open = each;
    // A closing fence is alone in its line, and not shorter than the opening fence.
    else if (each.trim() === fence && fence.startsWith(/`{3,}|~{3,}/.exec(open)?.[0] ?? '?'))
      open = undefined;
  }
  return open;
}

describe('a split text', () => {
  test("has parts within the platform's size limit, and space in the first part for a marker that the sender adds", () => {
    fc.assert(
      fc.property(text, optionsWithMark, (written, { limit, unit, markSpace }) => {
        for (const [i, part] of splitText(written, { limit, unit, markSpace }).entries())
          expect(sizeOf(part, unit)).toBeLessThanOrEqual(i === 0 ? limit - markSpace : limit);
      }),
    );
  });

  test('loses only blanks, and splits no surrogate pair', () => {
    fc.assert(
      fc.property(text, options, (written, each) => {
        const parts = splitText(written, each);
        expect(textWithoutFences(parts)).toBe(textWithoutFences([written]));
        for (const part of parts) expect(part.isWellFormed()).toBe(true);
      }),
    );
  });

  test('has parts in which each code block is closed, and reopened in the next part', () => {
    fc.assert(
      fc.property(text, options, (written, each) => {
        const parts = splitText(written, each);
        if (parts.length === 1) return;
        for (const part of parts) expect(openAtEnd(part)).toBeUndefined();
        let open: string | undefined;
        const lines = written.split('\n');
        let lineIndex = 0;
        // Assigns the source lines to the parts by the length of their text. If a block is open at the end of
        // a part, the next part must start with the first line of this block.
        for (const part of parts) {
          if (open !== undefined) expect(part.split('\n')[0]).toBe(open.trimEnd());
          let remaining = textWithoutFences([part]).length;
          for (; lineIndex < lines.length; lineIndex += 1) {
            const source = lines[lineIndex] ?? '';
            const length = textWithoutFences([source]).length;
            const openAfterLine = openAtEnd(source, open);
            const isClosing = open !== undefined && openAfterLine === undefined;
            const isOpening = openAfterLine !== open && !isClosing;
            // The line belongs to the next part: its text does not fit, or it opens a block after this part.
            if (length > remaining || (remaining === 0 && (length > 0 || isOpening))) break;
            // A blank line at the cut may belong to either side: the later lines cannot be assigned to parts.
            if (remaining === 0 && !isClosing) return;
            remaining -= length;
            open = openAfterLine;
          }
          // A part that stops inside a line does not show where later lines belong.
          if (remaining > 0) return;
        }
      }),
    );
  });

  test('keeps code lines unchanged if they fit', () => {
    const codeLine = fc.tuple(fc.constantFrom('', '    '), fc.constantFrom('a', 'return x;', 'y'.repeat(40)));
    const code = fc.array(
      codeLine.map(([indent, rest]) => indent + rest),
      { minLength: 20, maxLength: 80 },
    );
    fc.assert(
      fc.property(code, options, (lines, each) => {
        const parts = splitText(['before', '```ts', ...lines, '```'].join('\n'), each);
        const textLines = parts.flatMap((part) => part.split('\n')).filter((one) => !isFenceLine(one));
        expect(textLines).toEqual(['before', ...lines]);
        // No part contains an empty code block.
        for (const part of parts) expect(part).not.toMatch(/```ts\n```/);
      }),
    );
  });

  test('fills every part except the last to at least half the limit', () => {
    fc.assert(
      fc.property(text, optionsWithMark, (written, { limit, unit, markSpace }) => {
        const parts = splitText(written, { limit, unit, markSpace });
        for (const part of parts.slice(0, -1))
          expect(sizeOf(part, unit)).toBeGreaterThan((limit - markSpace) / 2);
      }),
    );
  });
});

describe('a text within the limit', () => {
  test('is returned unchanged', () => {
    for (const written of ['', '  a ', '```js\nopen', '\n\n'])
      expect(splitText(written, { limit: 100, unit: 'utf16' })).toEqual([written]);
  });
});

describe('a long text', () => {
  test('is cut between paragraphs near the end of a part, else between lines, else between words', () => {
    const limit = 100;
    const split = (written: string) => splitText(written, { limit, unit: 'utf16' });
    const lines = `${'a'.repeat(50)}\n${'b'.repeat(30)}\n${'c'.repeat(40)}`;
    expect(split(lines)).toEqual([`${'a'.repeat(50)}\n${'b'.repeat(30)}`, 'c'.repeat(40)]);
    // Between paragraphs, although another line would fit.
    expect(split(`${'a'.repeat(90)}\n\nb\nc ${'d'.repeat(20)}`)).toEqual([
      'a'.repeat(90),
      `b\nc ${'d'.repeat(20)}`,
    ]);
    expect(split(`${'a'.repeat(90)} ${'b'.repeat(20)}`)).toEqual(['a'.repeat(90), 'b'.repeat(20)]);
    expect(split('a'.repeat(150))).toEqual(['a'.repeat(100), 'a'.repeat(50)]);
  });

  test('of blanks only has no parts', () => {
    expect(splitText('\n'.repeat(300), { limit: 100, unit: 'utf16' })).toEqual([]);
  });

  test('of a megabyte is split quickly', () => {
    const from = performance.now();
    for (const written of [`${'word '.repeat(50)}\n`.repeat(4000), 'ä'.repeat(500_000)])
      expect(splitText(written, { limit: 4096, unit: 'utf8' }).length).toBeLessThan(300);
    expect(performance.now() - from).toBeLessThan(3_000);
  });

  test('is rejected if the limit is too small for any text', () => {
    expect(() => splitText('x'.repeat(100), { limit: 10, unit: 'utf16' })).toThrow(RangeError);
  });
});
