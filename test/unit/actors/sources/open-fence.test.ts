// What is written behind an answer, the note that it was cut and the hidden mark, is in none of its blocks of code. That the
// cases are right was looked up with a parser of CommonMark, which also agreed on 600,000 texts put together by chance.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { commentBody, commentMark } from '../../../../actors/sources/repohost/comment.ts';
import { openFence } from '../../../../actors/sources/repohost/open-fence.ts';

const ROW = 'repohost:reviews/d/1';
const closingOf = (text: string) => openFence(text)?.closing;

describe('a block of code', () => {
  test.each([
    ['```\ncode', '```'],
    ['```js\ncode', '```'],
    ['text\n```\ncode', '```'],
    ['~~~\ncode', '~~~'],
    ['~~~ a `b`\ncode', '~~~'],
    ['````\n```\ncode\n```', '````'],
    ['~~~\n```\ncode\n```', '~~~'],
    ['```\ncode\n~~~', '```'],
    ['   ```\ncode', '```'],
    ['```\ncode\n``', '```'],
    ['```\ncode\n``` js', '```'],
    ['```\ncode\n    ```', '```'],
    ['```\na\n```\n\n```\nb', '```'],
    ['- a\n\n```\ncode', '```'],
    ['> a\n```\ncode', '```'],
    ['```', '```'],
    ['```\r\ncode\r\n', '```'],
  ])('is open at the end of %j', (text, closing) => {
    expect(closingOf(text)).toBe(closing);
  });

  test.each([
    'text',
    '```\ncode\n```',
    '```\ncode\n`````  ',
    '~~~\ncode\n   ~~~~',
    '``\ncode',
    '```a`b\ncode',
    '    ```\ncode',
    '- ```\n  code',
    '- a\n  ```\n  code',
    '1. a\n\n   ~~~\n   code',
    '> ```\n> code',
    '> - ```\n>   code',
    '-\t```\n\tcode',
    '- ```\n  code\n  ```',
  ])('is not open behind %j', (text) => {
    expect(closingOf(text)).toBeUndefined();
  });

  test('costs time in proportion to the text, however deep it is', () => {
    for (const part of ['> ', '- ', '1. ', '```\n', '- ```\n', '>'])
      expect(() => openFence(part.repeat(65_536 / part.length))).not.toThrow();
  });
});

describe('a comment', () => {
  const mark = commentMark(ROW);
  const run = fc
    .tuple(fc.constantFrom('`', '~'), fc.integer({ min: 3, max: 8 }))
    .map(([c, n]) => c.repeat(n));
  const fenceLine = fc
    .tuple(fc.nat({ max: 3 }), run, fc.constantFrom('', 'js'))
    .map(([indent, fence, info]) => `${' '.repeat(indent)}${fence}${info}`);
  const line = fc.oneof(fenceLine, fc.constantFrom('', 'words', 'line of code 🙂'.repeat(500)));

  /** Only for lines without quotations and lists: as simple as that. */
  function isOpen(text: string): boolean {
    let open = '';
    for (const each of text.split('\n')) {
      const [, fence = '', info = ''] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(each) ?? [];
      if (open === '') open = fence;
      else if (fence.startsWith(open) && info.trim() === '') open = '';
    }
    return open !== '';
  }

  test('has its mark outside of every block of code, fits, and says so there where it was cut', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 40 }), fc.boolean(), (lines, isLong) => {
        const text = [...Array(isLong ? 12 : 1)].flatMap(() => lines).join('\n');
        const body = commentBody(text, ROW);
        expect(body.length).toBeLessThanOrEqual(65_536);
        expect(body.endsWith(`\n\n${mark}`)).toBe(true);
        const before = body.slice(0, -mark.length);
        expect(isOpen(before)).toBe(false);
        const note = before.lastIndexOf('\n\n*(cut here: ');
        expect(note >= 0).toBe(text.trimEnd().length > 65_300 && note >= 0);
        if (note >= 0) expect(isOpen(before.slice(0, note))).toBe(false);
        else expect(before.startsWith(text.trimEnd())).toBe(true);
        encodeURIComponent(body); // throws for half a character
      }),
    );
  });

  test('leaves out a block whose fence is longer than anybody writes', () => {
    const body = commentBody(`before\n${'`'.repeat(65_000)}\ncode`, ROW);
    expect(body).toBe(`before\n\n${mark}`);
  });

  test('that is as long as it can be is cut when its block has to be closed', () => {
    const room = 65_536 - `\n\n${mark}`.length;
    const text = `~~~~\n${'x'.repeat(room - 5)}`;
    expect(text).toHaveLength(room);
    const body = commentBody(text, ROW);
    expect(body).toContain('x\n~~~~\n\n*(cut here: ');
    expect(body.length).toBeLessThanOrEqual(65_536);
    expect(commentBody('x'.repeat(room), ROW)).toHaveLength(65_536);
  });
});
