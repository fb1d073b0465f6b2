import { expect, it } from 'vitest';
import { readErrorAnswer } from '../../../../../actors/agents/models/error-answer.ts';
import { refusal } from '../../../../../actors/agents/models/model-errors.ts';

const read = (headers: Record<string, string>, body: unknown = '') =>
  readErrorAnswer(new Headers(headers), typeof body === 'string' ? body : JSON.stringify(body));

it('a pause is read wherever a provider names one', () => {
  expect(read({ 'retry-after': '12' }).retryAfterMs).toBe(12_000);
  expect(read({ 'retry-after': '12', 'retry-after-ms': '11200.5' }).retryAfterMs).toBe(11_201);
  const date = 'Mon, 23 Nov 2026 10:00:00 GMT';
  expect(read({ date, 'retry-after': 'Mon, 23 Nov 2026 10:00:07 GMT' }).retryAfterMs).toBe(7_000);
  // Google's, in the body; some of its answers are arrays.
  const details = [null, { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.07s' }];
  expect(read({}, { error: { code: 429, details } }).retryAfterMs).toBe(34_070);
  expect(read({}, [{ error: { code: 429, details } }]).retryAfterMs).toBe(34_070);
  expect(read({ 'retry-after': '2' }, { error: { details } }).retryAfterMs).toBe(2_000);
});

it('what names none is no pause', () => {
  for (const body of [
    '',
    '<html>',
    'null',
    '[]',
    '{"error":"x"}',
    '{"error":{"details":7}}',
    '{"error":{"details":[{"retryDelay":"-1s"}]}}',
  ])
    expect(read({ 'retry-after-ms': 'soon', 'retry-after': '' }, body)).toEqual({
      retryAfterMs: undefined,
      reason: undefined,
    });
});

it('ME1 of the reasons that a provider gives, those that are known here are told', () => {
  expect(read({}, { error: { code: 'insufficient_quota' } }).reason).toBe('insufficient_quota');
  expect(read({}, { error: { code: null, type: 'overloaded_error' } }).reason).toBe('overloaded_error');
  expect(read({}, { error: { code: 'sk-secret', type: 'your text' } }).reason).toBeUndefined();
  expect(refusal(429, { reason: 'insufficient_quota' })).toMatchObject({
    what: 'answered 429 (insufficient_quota)',
    isUsedUp: true,
    isTooSoon: true,
  });
});
