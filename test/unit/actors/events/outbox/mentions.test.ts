import { describe, expect, test } from 'vitest';
import { messageWithoutMentions, withoutMentions } from '../../../../../actors/events/outbox/mentions.ts';

const pattern = /@\w+|<!\w+>/g;

test('what would be a mention is a word that looks the same and fits no more', () => {
  const text = withoutMentions('ask @ada or <!channel> now', { pattern });
  expect(text.replaceAll('\u2060', '')).toBe('ask @ada or <!channel> now');
  expect(text).not.toMatch(pattern);
});

test('every text of a message is gone over, and what comes back with a click is not', () => {
  const action = { id: '@id', title: '@title', description: '@more' };
  const card = {
    title: '@card',
    fields: [{ name: '@name', value: '@value' }],
    actions: [action],
    inputs: [{ id: '@in', label: '@label' }],
  };
  const message = { target: { place: '@place' }, action: { do: 'post' }, text: '@text', card } as const;
  const harmless = JSON.stringify(messageWithoutMentions(message, { pattern }));
  expect(harmless.match(pattern)).toEqual(['@place', '@id', '@in']);
  expect(JSON.parse(harmless.replaceAll('\u2060', ''))).toEqual(message);
});

describe('code', () => {
  test.each([
    ['in a line', 'use `@ada`, not `@bob`'],
    ['in a block', '```py\n@decorator\n```'],
    ['in a block behind a list', '- a list\n\n```\n@decorator\n```\nand `@ada`'],
  ])('stays as it is %s (MEN1)', (_, code) => {
    expect(withoutMentions(code, { pattern })).toBe(code);
  });

  test.each([
    ['runs of backticks that differ', '`@ada``'],
    ['one that is written as text', 'a \\`@ada\\`'],
    ['one that another line has opened', '`a\nb` @ada `c`'],
    ['one that runs of another length are in', '`a `` b` @ada `c`'],
    ['a block that is indented too far to be one', '    ```\n@ada'],
    ['a block that ends with its list', '- x\n\n  ```\n  code\n@ada'],
    ['a block that another has ended', '   ```\ncode\n```\n@ada'],
    ['a block in a comment', '<!--\n```\n-->\n@ada'],
    ['cells of a table', '| `a | @ada` |'],
    ['backticks in a tag', '<a title="`">@ada</a> `'],
    ['a block with a backtick behind its marks', '``` `\n@ada'],
    ['a block that is over', '```\ncode\n```\n@ada'],
  ])('is none where it only looks so: %s (MEN1)', (_, text) => {
    expect(withoutMentions(text, { pattern })).toContain('@\u2060ada');
  });

  test.each([
    ['is closed', '```py\n@ada\n```', true],
    ['is closed, and another one after it', '~~~\n@ada\n~~~\n\n```\n@ada\n```', true],
    ['nobody has closed', '```\n@ada', false],
    ['is closed by more marks', '```\n@ada\n````\n```', false],
    ['has more than one word behind its marks', '```py one two\n@ada\n```', false],
  ])('in a block that %s, where only one that is closed is code', (_, text, isCode) => {
    expect(withoutMentions(text, { pattern, isCodeClosed: true }).includes('\u2060')).toBe(!isCode);
  });

  test('is text like any other where the platform reads it', () => {
    expect(withoutMentions('`@ada`', { pattern, isReadInCode: true })).toBe('`@\u2060ada`');
  });
});

test.each([
  ['a block', '```\n@ada\r```\r@bob\n```'],
  ['code in a line', '`a\r\r@ada`'],
])('what a carriage return may end is text: %s (MEN1)', (_, text) => {
  expect(withoutMentions(text, { pattern })).not.toMatch(pattern);
});

test.each([
  ['blanks behind an opening', `@ada\n\`\`\`${' '.repeat(200_000)}!`],
  ['many blocks', `@ada\n${'```\na\n```\n'.repeat(60_000)}`],
])('a long text takes no time: %s', (_, text) => {
  const before = process.cpuUsage();
  withoutMentions(text, { pattern, isCodeClosed: true });
  expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
});
