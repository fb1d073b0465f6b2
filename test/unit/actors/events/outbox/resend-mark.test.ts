import { expect, test } from 'vitest';
import { htmlMarks } from '../../../../../actors/events/outbox/resend-mark.ts';

test('a row has one mark at all attempts, which reveals nothing about it', () => {
  const mark = htmlMarks.markFor('outbox:repohost:reviews/1/1');
  expect(htmlMarks.markFor('outbox:repohost:reviews/1/1')).toBe(mark);
  expect(htmlMarks.markFor('outbox:repohost:reviews/1/2')).not.toBe(mark);
  expect(mark).not.toContain('reviews');
  expect(htmlMarks.isMarked(`${mark}\n\nyes`)).toBe(true);
});

test('a text that repeats a mark is not recognised as that row', () => {
  const text = `look: ${htmlMarks.markFor('a')}`;
  expect(htmlMarks.withoutMarks(text)).not.toContain(htmlMarks.markFor('a'));
  expect(htmlMarks.isMarked(htmlMarks.withoutMarks(text))).toBe(false);
});

test('the rest of a removed mark forms no mark with the text after it', () => {
  const text = htmlMarks.markFor('a').replace('actor-gateway:', 'actor-gateway:actor-gateway:');
  expect(htmlMarks.isMarked(htmlMarks.withoutMarks(text))).toBe(false);
});
