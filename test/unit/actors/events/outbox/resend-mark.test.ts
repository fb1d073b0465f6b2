import { expect, test } from 'vitest';
import { htmlMarks } from '../../../../../actors/events/outbox/resend-mark.ts';

test('an outgoing message has the same hidden mark at all attempts, and the mark does not reveal the message id', () => {
  const mark = htmlMarks.markFor('outbox:repohost:reviews/1/1');
  expect(htmlMarks.markFor('outbox:repohost:reviews/1/1')).toBe(mark);
  expect(htmlMarks.markFor('outbox:repohost:reviews/1/2')).not.toBe(mark);
  expect(mark).not.toContain('reviews');
  expect(htmlMarks.isMarked(`${mark}\n\nyes`)).toBe(true);
});

test('an agent text that repeats the hidden mark of another message is not taken for that message', () => {
  const text = `look: ${htmlMarks.markFor('a')}`;
  expect(htmlMarks.withoutMarks(text)).not.toContain(htmlMarks.markFor('a'));
  expect(htmlMarks.isMarked(htmlMarks.withoutMarks(text))).toBe(false);
});

test('after a hidden mark is removed from a text, the text around it forms no new mark', () => {
  const text = htmlMarks.markFor('a').replace('actor-gateway:', 'actor-gateway:actor-gateway:');
  expect(htmlMarks.isMarked(htmlMarks.withoutMarks(text))).toBe(false);
});
