// Split points within a line: outside inline constructs and graphemes.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { splitText } from '../../../../../actors/events/outbox/split-text.ts';

const split = (text: string, limit = 64) => splitText(text, { limit, unit: 'utf16' });

describe('a long line', () => {
  test.each([
    ['a link', '[a long label of words](https://example.com/page)'],
    ['bold words', '**several bold words in a row**'],
    ['italic words', '_several words in a row_'],
    ['struck words', '~~several words in a row~~'],
    ['code', '`some code with blanks in it`'],
    ['a link of a chat', '<https://example.com/page|a long label of words>'],
  ])('is split before %s, which stays whole', (_, construct) => {
    for (let length = 20; length < 60; length += 1) {
      const parts = split(`${'word '.repeat(20).slice(0, length)} ${construct} end of the line`);
      expect(parts.some((part) => part.includes(construct))).toBe(true);
      for (const part of parts) expect(part.length).toBeLessThanOrEqual(64);
    }
  });

  test('is split within a construct that fills a part, between words', () => {
    const parts = split(`**${'bold '.repeat(40)}end**`);
    expect(parts.length).toBeGreaterThan(2);
    expect(parts.join(' ').replaceAll(/\s+/g, ' ')).toBe(`**${'bold '.repeat(40)}end**`);
    for (const part of parts.slice(0, -1)) expect(part).toMatch(/bold$/);
  });

  test('of emoji is split between graphemes', () => {
    const graphemes = ['👨‍👩‍👧‍👦', '🇩🇪', '👍🏽', 'e\u0301', 'क्षि', '😀'];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...graphemes), { minLength: 20, maxLength: 80 }), (all) => {
        const segmenter = new Intl.Segmenter();
        const segments = (text: string) => [...segmenter.segment(text)].map(({ segment }) => segment);
        const text = all.join('');
        expect(split(text).flatMap(segments)).toEqual(segments(text));
      }),
      { numRuns: 100 },
    );
  });

  test('of one endless grapheme is split nevertheless', () => {
    const text = `a${'\u0301'.repeat(500)}`;
    expect(split(text).join('')).toBe(text);
  });

  test('of marks only is split in linear time', () => {
    const text = '*a_[`<'.repeat(20_000);
    const begin = performance.now();
    expect(split(text, 28_000).join('')).toBe(text);
    expect(performance.now() - begin).toBeLessThan(2_000);
  });
});
