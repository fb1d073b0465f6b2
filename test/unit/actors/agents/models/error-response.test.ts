import { expect, it } from 'vitest';
import { readErrorAnswer } from '../../../../../actors/agents/models/error-response.ts';
import { faultOfStatus } from '../../../../../actors/agents/models/model-errors.ts';

const readError = (headers: Record<string, string>, body: unknown = '') =>
  readErrorAnswer(new Headers(headers), typeof body === 'string' ? body : JSON.stringify(body));

it('the retry delay is read from headers and bodies of all providers', () => {
  expect(readError({ 'retry-after': '12' }).retryAfterMs).toBe(12_000);
  expect(readError({ 'retry-after': '12', 'retry-after-ms': '11200.5' }).retryAfterMs).toBe(11_201);
  const date = 'Mon, 23 Nov 2026 10:00:00 GMT';
  expect(readError({ date, 'retry-after': 'Mon, 23 Nov 2026 10:00:07 GMT' }).retryAfterMs).toBe(7_000);
  // Google's format. Some Google responses are arrays.
  const details = [null, { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.07s' }];
  expect(readError({}, { error: { code: 429, details } }).retryAfterMs).toBe(34_070);
  expect(readError({}, [{ error: { code: 429, details } }]).retryAfterMs).toBe(34_070);
  expect(readError({ 'retry-after': '2' }, { error: { details } }).retryAfterMs).toBe(2_000);
});

it('a response without a retry delay has none', () => {
  for (const body of [
    '',
    '<html>',
    'null',
    '[]',
    '{"error":"x"}',
    '{"error":{"details":7}}',
    '{"error":{"details":[{"retryDelay":"-1s"}]}}',
  ])
    expect(readError({ 'retry-after-ms': 'soon', 'retry-after': '' }, body)).toEqual({
      retryAfterMs: undefined,
      reason: undefined,
    });
});

it('only known error reasons of a provider are reported (ME1)', () => {
  expect(readError({}, { error: { code: 'insufficient_quota' } }).reason).toBe('insufficient_quota');
  expect(readError({}, { error: { code: null, type: 'overloaded_error' } }).reason).toBe('overloaded_error');
  expect(readError({}, { error: { code: 'sk-secret', type: 'your text' } }).reason).toBeUndefined();
  expect(faultOfStatus(429, { reason: 'insufficient_quota' })).toMatchObject({
    description: 'answered 429 (insufficient_quota)',
    isExhausted: true,
    isRateLimited: true,
  });
});
