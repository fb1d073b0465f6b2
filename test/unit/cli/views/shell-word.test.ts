// Words of printed command lines: a shell reads the original words, also after the output for a terminal has
// removed control sequences.

import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shellWord } from '../../../../src/cli/views/shell-word.ts';
import { forTerminal } from '../../../../src/terminal/terminal-text.ts';

const hostileWord = fc
  .array(
    fc.constantFrom(
      ...[
        "'",
        '"',
        '\\',
        '$(touch x)',
        '`id`',
        ';',
        '&',
        '|',
        '>',
        '<',
        '*',
        '~',
        '!',
        '#',
        '=',
        '-',
        'a',
        ' ',
      ],
      ...['\u001b', '\u001b[', '\u001b]0;', '\u0007', '\u001b\\', '\u009b', '\n', '\r', '\t', '\u007f'],
      ...['\u202e', '\u200b', '\u00a0', '\u3164', 'é', '東', '😀', '{a,b}', '%1', '$HOME', '\\n'],
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''));

test('bash reads the words as they are, and a line has no hidden character', () => {
  fc.assert(
    fc.property(fc.array(hostileWord, { minLength: 1, maxLength: 40 }), (words) => {
      const line = words.map(shellWord).join(' ');
      expect(forTerminal(line)).toBe(line);
      expect(line).not.toContain('\n');
      const output = execFileSync('bash', ['-c', `printf '%s\\0' ${line}`], { encoding: 'utf8' });
      expect(output.split('\0').slice(0, -1)).toEqual(words);
    }),
    { numRuns: 30 },
  );
});

test.each([
  ['plain-word/1.2:x', 'plain-word/1.2:x'],
  ['', "''"],
  ["it's", "'it'\\''s'"],
  // A zsh replaces a word that begins with an equals sign.
  ['=ls', "'=ls'"],
  ['a=b', 'a=b'],
  ['a\u001bb', "$'a\\033b'"],
])('%j is written as %s', (word, quoted) => {
  expect(shellWord(word)).toBe(quoted);
});
