import { expect, test } from 'vitest';
import { htmlMarks } from '../../../../../actors/events/outbox/resend-mark.ts';

test('an outbox row has the same mark at all attempts, and the mark does not reveal the row id', () => {
  const mark = htmlMarks.markFor('outbox:repohost:reviews/1/1');
  expect(htmlMarks.markFor('outbox:repohost:reviews/1/1')).toBe(mark);
  expect(htmlMarks.markFor('outbox:repohost:reviews/1/2')).not.toBe(mark);
  expect(mark).not.toContain('reviews');
  expect(htmlMarks.isMarked(`${mark}\n\nyes`)).toBe(true);
});

test('an agent text that repeats the mark of a row is not recognised as that row', () => {
  const text = `look: ${htmlMarks.markFor('a')}`;
  expect(htmlMarks.withoutMarks(text)).not.toContain(htmlMarks.markFor('a'));
  expect(htmlMarks.isMarked(htmlMarks.withoutMarks(text))).toBe(false);
});

test('the rest of a removed mark does not form a new mark with the text after it', () => {
  const text = htmlMarks.markFor('a').replace('actor-gateway:', 'actor-gateway:actor-gateway:');
  expect(htmlMarks.isMarked(htmlMarks.withoutMarks(text))).toBe(false);
});
