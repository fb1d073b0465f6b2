import { expect, test } from 'vitest';
import { withoutMentions } from '../../../../actors/outbound/mentions.ts';

const MENTION = /@\w+|<!\w+>/g;

test('what would be a mention is a word that looks the same and fits no more', () => {
  const text = withoutMentions('ask @ada or <!channel> now', MENTION);
  expect(text.replaceAll('\u2060', '')).toBe('ask @ada or <!channel> now');
  expect(text).not.toMatch(MENTION);
});

test('code stays as it is', () => {
  const code = 'use `@ada` and\n```py\n@decorator\n```';
  expect(withoutMentions(code, MENTION)).toBe(code);
});
