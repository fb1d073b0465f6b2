// No line that the host would carry out leaves, whatever an agent writes.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { htmlMarks } from '../../../../../../actors/events/outbox/resend-mark.ts';
import { commentText } from '../../../../../../actors/platforms/repository-hosts/outbound.ts';
import { withoutQuickActions } from '../../../../../../actors/platforms/repository-hosts/repohostb/quick-actions.ts';
import { quickActionsIn } from '../../../../../fixtures/repositories/repohostb-platform.ts';

const block = (...lines: readonly string[]) => ['```', ...lines, '```'].join('\n');

describe('a line that begins with a slash', () => {
  test.each([
    ['alone', '/merge', '\\/merge'],
    ['with words behind it', 'Done.\n/close now', 'Done.\n\\/close now'],
    ['in any case', '/MERGE', '\\/MERGE'],
    ['with blanks before it', '  /close', '  \\/close'],
    ['of any kind of line', 'a\r/close\r\n/merge', 'a\n\\/close\n\\/merge'],
    ['behind a zero', '\0/close', '\ufffd/close'],
    ['in a list that goes on lazily', '- a\n/close', '- a\n\\/close'],
    ['in a quotation that goes on lazily', '> a\n/close', '> a\n\\/close'],
    ['in a quotation of the host’s own', '>>>\n/close\n>>>', '>>>\n\\/close\n>>>'],
    ['behind a block', `${block('/usr/bin')}\n/close`, `${block('/usr/bin')}\n\\/close`],
    ['that is no command', '// a', '\\// a'],
  ])('is made harmless: %s', (_, text, expected) => {
    expect(withoutQuickActions(text)).toBe(expected);
  });

  test.each([
    ['in a block', block('/usr/bin/env', '// a', '', '/close')],
    ['in a block with a language', `\`\`\`sh\n/usr/bin/env\n\`\`\``],
    ['in several blocks', `${block('/a')}\ntext\n${block('/b')}`],
    ['in the middle of a line', 'see /close and a/b'],
    ['in a line of code', '`/close` closes it'],
    ['in a quotation', '> /close'],
    ['far to the right', '    /usr/bin'],
  ])('is left as it is: %s', (_, text) => {
    expect(withoutQuickActions(text)).toBe(text);
  });

  test.each([
    ['never ends', '```\n/close'],
    ['ends sooner for some', '```\n  ```\n/close\n```'],
    ['ends with more', '```\na\n````\n/close\n```'],
    ['ends with blanks', '```\na\n``` \n/close\n```'],
    ['has nothing in it', '```\n```\n/close\n```'],
    ['begins in HTML', '<div>\n```\n\n/close\n\n```'],
    ['begins in a comment', '<!--\n```\n-->\n/close\n```'],
    ['begins in a list', '- ```\n/close\n- ```'],
    ['begins in other marks', '~~~\n```\n~~~\n/close\n```'],
    ['begins to the right', '  ```\n```\n/close\n```'],
    ['begins in a quotation of the host’s own', '>>>\n```\n>>>\n/close\n```'],
    ['holds what ends HTML', '```\n</a>\n/close\n```'],
    ['is of longer marks', '````\n```\n/close\n```\n````'],
  ])('is made harmless where a block %s', (_, text) => {
    expect(withoutQuickActions(text)).toMatch(/\n\\\/close/);
    expect(withoutQuickActions(text)).not.toMatch(/^\/close/m);
  });
});

const pieces = [
  '/close',
  '/merge x',
  '```',
  '```sh',
  '````',
  '  ```',
  '~~~',
  '<div>',
  '</div>',
  '<!--',
  '-->',
  '>>>',
  '> a',
];
const lines = fc.array(fc.constantFrom(...pieces, '- a', '', 'text', '    /close', '`', '\r/close'), {
  maxLength: 12,
});

test('nothing is a command for any version of the host, whatever is put together', () => {
  fc.assert(
    fc.property(lines, fc.constantFrom('\n', '\r\n', '\r'), (all, end) => {
      const note = `${htmlMarks.of('row')}\n\n${withoutQuickActions(all.join(end))}`;
      expect(quickActionsIn(note).actions).toEqual([]);
    }),
    { numRuns: 5_000 },
  );
});

test('no line begins with a slash but in a whole block of code', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: fc.constantFrom('/', '\n', '`', 'a', ' ', '\r', '<') }), fc.string()),
      (text) => {
        const left = withoutQuickActions(text).replace(/^```[^`\n]*\n[\s\S]*?\n```$/gm, '');
        expect(left).not.toMatch(/^\/\w/m);
        expect(left).not.toContain('\r');
      },
    ),
    { numRuns: 5_000 },
  );
});

test('what is cut has no command either', () => {
  const form = { marks: htmlMarks, maxComment: 300, harmless: withoutQuickActions };
  const text = commentText(`${'x'.repeat(400)}\n/close`, form);
  expect(text).toContain('cut');
  fc.assert(
    fc.property(lines, (all) => {
      const long = commentText(`${all.join('\n')}\n${'/close\n'.repeat(80)}`, form);
      expect(long.replace(/^```[^`\n]*\n[\s\S]*?\n```$/gm, '')).not.toMatch(/^\/\w/m);
    }),
  );
});

test('a long text takes no long time', () => {
  const text = '```\n/a\n```\n'.repeat(90_000);
  const before = performance.now();
  expect(withoutQuickActions(text)).toBe(text);
  expect(performance.now() - before).toBeLessThan(2_000);
});

test('what a zero parts is no name afterwards', () => {
  expect(withoutQuickActions('@\0all')).toBe('@\ufffdall');
});
