// Untrusted text in a terminal: control sequences have no effect.
// Invariant TT1 is in src/terminal/terminal-text.ts.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { table } from '../../../src/cli/views/table.ts';
import { ownColours, paintFor } from '../../../src/terminal/paint.ts';
import {
  forTerminal,
  jsonForTerminal,
  printable,
  printableLine,
  printableLines,
} from '../../../src/terminal/terminal-text.ts';

const ESC = '\u001b';
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ESC,
        '\u009b',
        '\u009d',
        '\u0007',
        '\u009c',
        '\r',
        '\n',
        '\t',
        '\u202e',
        '\u2066',
        '\u{e0041}',
      ),
      fc.constantFrom('[31m', ']0;title', ']52;c;', '[2J', 'P', '\\', '[0m', '[1;97;41m', 'word'),
      fc.string(),
    ),
  )
  .map((parts) => parts.join(''));
// biome-ignore lint/complexity/useRegexLiterals: as a literal it would hold control characters
const controlSequences = new RegExp(
  '[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\u{e0000}-\\u{e007f}]',
  'u',
);

describe('foreign text for a terminal', () => {
  test.each([
    ['a title', `before${ESC}]0;owned\u0007after`, 'beforeafter'],
    ['the clipboard', `x${ESC}]52;c;cm0gLXJm${ESC}\\y`, 'xy'],
    ['a clear', `${ESC}[2J${ESC}[Htext`, 'text'],
    ['eight-bit controls', 'a\u009b31mb\u009d0;t\u009cc', 'abc'],
    ['a carriage return', 'good\rbad', 'goodbad'],
    ['a direction override', 'abc\u202efed', 'abcfed'],
    ['lines and tabs', 'one\r\n\ttwo\nthree', 'one\n\ttwo\nthree'],
    ['joined emoji and Persian', '👩‍💻 می‌خواهم', '👩‍💻 می‌خواهم'],
  ])('with %s is reduced to printable text', (_, text, printedText) => {
    expect(printableLines(text)).toBe(printedText);
    expect(forTerminal(text)).toBe(printedText);
  });

  test('on one line keeps its indentation', () => {
    expect(printableLine('\t  File "a.py",  line 3')).toBe('\t  File "a.py",  line 3');
    expect(printableLine('one\r\n  two')).toBe('one   two');
  });

  test('contains no control sequences except colours of the program (TT1)', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(printable(text)).not.toMatch(controlSequences);
        expect(printable(text)).not.toMatch(/[\n\t]/);
        expect(printableLine(text)).not.toMatch(controlSequences);
        expect(printableLine(text)).not.toContain('\n');
        expect(printableLines(text)).not.toMatch(controlSequences);
        for (const [at, part] of forTerminal(text).split(ownColours).entries())
          if (at % 2 === 0) expect(part).not.toMatch(controlSequences);
      }),
    );
    const paint = paintFor({ isTTY: true }, {});
    expect(forTerminal(paint('bad', 'failed'))).toBe(`${ESC}[1;97;41mfailed${ESC}[0m`);
  });

  test('in JSON remains the same value', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const json = jsonForTerminal(JSON.stringify({ [text]: [text] }, undefined, 2));
        expect(json).not.toMatch(controlSequences);
        expect(JSON.parse(json)).toEqual({ [text]: [text] });
      }),
    );
  });

  test('in a table cell takes one line', () => {
    const column = { title: 'NOTE', text: (row: string) => row };
    expect(table([column], [`two\nlines${ESC}[2J\u0007`])).toEqual(['NOTE', 'two lines?']);
  });
});
