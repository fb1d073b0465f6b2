// Quick actions of the host (commands in comments) are escaped in texts of agents.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { htmlMarks } from '../../../../../../actors/events/outbox/resend-mark.ts';
import { commentText } from '../../../../../../actors/platforms/repository-hosts/outbound.ts';
import { escapeQuickActions } from '../../../../../../actors/platforms/repository-hosts/repohostb/quick-actions.ts';
import { quickActionsIn } from '../../../../../fixtures/repositories/repohostb-platform.ts';

const block = (...lines: readonly string[]) => ['```', ...lines, '```'].join('\n');

describe('a line with a leading slash', () => {
  test.each([
    ['alone', '/merge', '\\/merge'],
    ['with text after it', 'Done.\n/close now', 'Done.\n\\/close now'],
    ['in capitals', '/MERGE', '\\/MERGE'],
    ['after blanks', '  /close', '  \\/close'],
    ['after any line end', 'a\r/close\r\n/merge', 'a\n\\/close\n\\/merge'],
    ['after a null character', '\0/close', '\ufffd/close'],
    ['in a lazy continuation of a list', '- a\n/close', '- a\n\\/close'],
    ['in a lazy continuation of a quotation', '> a\n/close', '> a\n\\/close'],
    ['in a multi-line quotation of the host', '>>>\n/close\n>>>', '>>>\n\\/close\n>>>'],
    ['after a code block', `${block('/usr/bin')}\n/close`, `${block('/usr/bin')}\n\\/close`],
    ['without a command', '// a', '\\// a'],
  ])('is escaped: %s', (_, text, expected) => {
    expect(escapeQuickActions(text)).toBe(expected);
  });

  test.each([
    ['in a code block', block('/usr/bin/env', '// a', '', '/close')],
    ['in a code block with a language', `\`\`\`sh\n/usr/bin/env\n\`\`\``],
    ['in several code blocks', `${block('/a')}\ntext\n${block('/b')}`],
    ['within a line', 'see /close and a/b'],
    ['in inline code', '`/close` closes it'],
    ['in a quotation', '> /close'],
    ['with four spaces of indentation', '    /usr/bin'],
  ])('is not changed: %s', (_, text) => {
    expect(escapeQuickActions(text)).toBe(text);
  });

  test.each([
    ['that is not closed', '```\n/close'],
    ['that some versions close earlier', '```\n  ```\n/close\n```'],
    ['with a longer closing fence', '```\na\n````\n/close\n```'],
    ['with blanks after the closing fence', '```\na\n``` \n/close\n```'],
    ['that is empty', '```\n```\n/close\n```'],
    ['in HTML', '<div>\n```\n\n/close\n\n```'],
    ['in an HTML comment', '<!--\n```\n-->\n/close\n```'],
    ['in a list', '- ```\n/close\n- ```'],
    ['in another fence', '~~~\n```\n~~~\n/close\n```'],
    ['with indentation', '  ```\n```\n/close\n```'],
    ['in a multi-line quotation of the host', '>>>\n```\n>>>\n/close\n```'],
    ['with an HTML end tag', '```\n</a>\n/close\n```'],
    ['with a longer fence', '````\n```\n/close\n```\n````'],
  ])('is escaped in a code block %s', (_, text) => {
    expect(escapeQuickActions(text)).toMatch(/\n\\\/close/);
    expect(escapeQuickActions(text)).not.toMatch(/^\/close/m);
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

test('no escaped text contains a quick action for any version of the host', () => {
  fc.assert(
    fc.property(lines, fc.constantFrom('\n', '\r\n', '\r'), (all, end) => {
      const note = `${htmlMarks.markFor('row')}\n\n${escapeQuickActions(all.join(end))}`;
      expect(quickActionsIn(note).actions).toEqual([]);
    }),
    { numRuns: 5_000 },
  );
});

test('no line outside complete code blocks begins with a slash', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: fc.constantFrom('/', '\n', '`', 'a', ' ', '\r', '<') }), fc.string()),
      (text) => {
        const outsideCode = escapeQuickActions(text).replace(/^```[^`\n]*\n[\s\S]*?\n```$/gm, '');
        expect(outsideCode).not.toMatch(/^\/\w/m);
        expect(outsideCode).not.toContain('\r');
      },
    ),
    { numRuns: 5_000 },
  );
});

test('a cut text contains no quick action', () => {
  const form = { marks: htmlMarks, maxComment: 300, escapeCommands: escapeQuickActions };
  const text = commentText(`${'x'.repeat(400)}\n/close`, form);
  expect(text).toContain('cut');
  fc.assert(
    fc.property(lines, (all) => {
      const long = commentText(`${all.join('\n')}\n${'/close\n'.repeat(80)}`, form);
      expect(long.replace(/^```[^`\n]*\n[\s\S]*?\n```$/gm, '')).not.toMatch(/^\/\w/m);
    }),
  );
});

test('a long text is escaped in linear time', () => {
  const text = '```\n/a\n```\n'.repeat(90_000);
  const before = performance.now();
  expect(escapeQuickActions(text)).toBe(text);
  expect(performance.now() - before).toBeLessThan(2_000);
});

test('a null character does not hide a mention', () => {
  expect(escapeQuickActions('@\0all')).toBe('@\ufffdall');
});
