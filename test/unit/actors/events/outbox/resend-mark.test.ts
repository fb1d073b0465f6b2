import { expect, test } from 'vitest';
import { htmlMarks } from '../../../../../actors/events/outbox/resend-mark.ts';

test('a row has one mark at all its attempts, which says nothing of it', () => {
  const mark = htmlMarks.of('outbox:repohost:reviews/1/1');
  expect(htmlMarks.of('outbox:repohost:reviews/1/1')).toBe(mark);
  expect(htmlMarks.of('outbox:repohost:reviews/1/2')).not.toBe(mark);
  expect(mark).not.toContain('reviews');
  expect(htmlMarks.areIn(`${mark}\n\nyes`)).toBe(true);
});

test('a text that repeats a mark does not pass for that row', () => {
  const text = `look: ${htmlMarks.of('a')}`;
  expect(htmlMarks.takenOut(text)).not.toContain(htmlMarks.of('a'));
  expect(htmlMarks.areIn(htmlMarks.takenOut(text))).toBe(false);
});

test('what is left of a mark is no mark with what stands behind it', () => {
  const text = htmlMarks.of('a').replace('actor-gateway:', 'actor-gateway:actor-gateway:');
  expect(htmlMarks.areIn(htmlMarks.takenOut(text))).toBe(false);
});
