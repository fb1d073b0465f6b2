import { describe, expect, test } from 'vitest';
import { chatFilters } from '../../../../../actors/events/inbox/chat-filters.ts';
import { scoreOf } from '../../../../../machines/matching.ts';

const event = { names: [], text: 'Please HELP me', channel: '#ops', user: 'U1' };

describe('the filters of a chat', () => {
  test('match channel names with or without #, users, and text patterns with flags', () => {
    expect(scoreOf(chatFilters({}), event)).toBe(10);
    expect(scoreOf(chatFilters({ channels: ['ops'] }), event)).toBe(110);
    expect(scoreOf(chatFilters({ channels: ['#ops'] }), { ...event, channel: 'ops' })).toBe(110);
    expect(scoreOf(chatFilters({ users: ['U1'], patterns: ['(?i)help'] }), event)).toBe(150);
    expect(scoreOf(chatFilters({ patterns: ['help'] }), event)).toBeUndefined();
    expect(scoreOf(chatFilters({ patterns: ['^me$', '(?i:HELP) me$'] }), event)).toBe(70);
    expect(
      scoreOf(chatFilters({ patterns: ['(?ms)^line.three$'] }), { ...event, text: 'line one\nline\nthree' }),
    ).toBe(70);
  });

  test('match no message if a text pattern is invalid', () => {
    expect(scoreOf(chatFilters({ patterns: ['('] }), event)).toBeUndefined();
  });

  test('run in linear time, on the beginning of the text only', () => {
    const filters = chatFilters({ patterns: ['^(a+)+$', '(x+x+)+y'] });
    const started = performance.now();
    expect(scoreOf(filters, { ...event, text: `${'a'.repeat(16_000)}!` })).toBeUndefined();
    expect(scoreOf(filters, { ...event, text: 'x'.repeat(16_000) })).toBeUndefined();
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(
      scoreOf(chatFilters({ patterns: ['end'] }), { ...event, text: `${' '.repeat(20_000)}end` }),
    ).toBeUndefined();
    expect(scoreOf(chatFilters({ patterns: ['end'] }), { ...event, text: `${' '.repeat(10_000)}end` })).toBe(
      70,
    );
  });
});
