import { expect, test } from 'vitest';
import { isMarked, resendMark, withoutMarks } from '../../../../actors/outbound/resend-mark.ts';

test('a row has one mark at all its attempts, which says nothing of it', () => {
  const mark = resendMark('outbox:repohost:reviews/1/1');
  expect(resendMark('outbox:repohost:reviews/1/1')).toBe(mark);
  expect(resendMark('outbox:repohost:reviews/1/2')).not.toBe(mark);
  expect(mark).not.toContain('reviews');
  expect(isMarked(`${mark}\n\nyes`)).toBe(true);
});

test('a text that repeats a mark does not pass for that row', () => {
  const text = `look: ${resendMark('a')}`;
  expect(withoutMarks(text)).not.toContain(resendMark('a'));
  expect(isMarked(withoutMarks(text))).toBe(false);
});
