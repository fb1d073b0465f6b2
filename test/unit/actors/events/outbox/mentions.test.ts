import { describe, expect, test } from 'vitest';
import {
  messageWithMentionsNeutralised,
  withMentionsNeutralised,
} from '../../../../../actors/events/outbox/mentions.ts';

const pattern = /@\w+|<!\w+>/g;

test('a neutralised mention looks the same but no longer matches the pattern of the platform', () => {
  const text = withMentionsNeutralised('ask @ada or <!channel> now', { pattern });
  expect(text.replaceAll('\u2060', '')).toBe('ask @ada or <!channel> now');
  expect(text).not.toMatch(pattern);
});

test('mentions are neutralised in every text of a message, except in the values that a click returns', () => {
  const action = { id: '@id', title: '@title', description: '@more' };
  const card = {
    title: '@card',
    fields: [{ name: '@name', value: '@value' }],
    actions: [action],
    inputs: [{ id: '@in', label: '@label' }],
  };
  const message = { target: { place: '@place' }, action: { do: 'post' }, text: '@text', card } as const;
  const harmless = JSON.stringify(messageWithMentionsNeutralised(message, { pattern }));
  expect(harmless.match(pattern)).toEqual(['@place', '@id', '@in']);
  expect(JSON.parse(harmless.replaceAll('\u2060', ''))).toEqual(message);
});

describe('code in a text with mentions', () => {
  test.each([
    ['in a line', 'use `@ada`, not `@bob`'],
    ['in a block', '```py\n@decorator\n```'],
    ['in a block behind a list', '- a list\n\n```\n@decorator\n```\nand `@ada`'],
  ])('stays unchanged %s', (_, code) => {
    expect(withMentionsNeutralised(code, { pattern })).toBe(code);
  });

  test.each([
    ['backtick runs of different lengths', '`@ada``'],
    ['an escaped backtick', 'a \\`@ada\\`'],
    ['a backtick opened in another line', '`a\nb` @ada `c`'],
    ['a span that contains runs of another length', '`a `` b` @ada `c`'],
    ['a block that is indented too far', '    ```\n@ada'],
    ['a block that ends with its list', '- x\n\n  ```\n  code\n@ada'],
    ['a block closed by another fence', '   ```\ncode\n```\n@ada'],
    ['a block in a comment', '<!--\n```\n-->\n@ada'],
    ['cells of a table', '| `a | @ada` |'],
    ['backticks in an HTML tag', '<a title="`">@ada</a> `'],
    ['a fence with a backtick in its info string', '``` `\n@ada'],
    ['a block that was closed', '```\ncode\n```\n@ada'],
  ])('is not recognised if it only looks like code: %s', (_, text) => {
    expect(withMentionsNeutralised(text, { pattern })).toContain('@\u2060ada');
  });

  test.each([
    ['is closed', '```py\n@ada\n```', true],
    ['is closed, and followed by another one', '~~~\n@ada\n~~~\n\n```\n@ada\n```', true],
    ['is unclosed', '```\n@ada', false],
    ['is closed by a longer fence', '```\n@ada\n````\n```', false],
    ['has more than one word after its fence', '```py one two\n@ada\n```', false],
  ])('in a block that %s counts as code only if the platform would close it', (_, text, isCode) => {
    expect(withMentionsNeutralised(text, { pattern, requiresClosedCode: true }).includes('\u2060')).toBe(
      !isCode,
    );
  });
});

test.each([
  ['a block', '```\n@ada\r```\r@bob\n```'],
  ['inline code', '`a\r\r@ada`'],
])('a code block that a carriage return may end is treated as text: %s', (_, text) => {
  expect(withMentionsNeutralised(text, { pattern })).not.toMatch(pattern);
});

test.each([
  ['blanks after a fence', `@ada\n\`\`\`${' '.repeat(200_000)}!`],
  ['many blocks', `@ada\n${'```\na\n```\n'.repeat(60_000)}`],
])('mentions in a long text are neutralised in linear time: %s', (_, text) => {
  const before = process.cpuUsage();
  withMentionsNeutralised(text, { pattern, requiresClosedCode: true });
  expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
});
