import { describe, expect, test } from 'vitest';
import { ApiResponse } from '../../../../libs/rest/http-api.ts';
import { limitOf as limitOfAnswer, rateLimitOf, usedUpMs } from '../../../../libs/rest/rate-limit.ts';

const date = 'Tue, 20 Jan 2026 10:00:00 GMT';
const now = Date.parse(date) / 1000;

const limitOf = (status: number, headers: Record<string, string>, message: string) =>
  limitOfAnswer(new ApiResponse(status, new Headers(headers), Buffer.from(JSON.stringify({ message }))));

describe('a refusal by rate limits', () => {
  const exhausted = { date, 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(now + 30) };

  test.each([403, 429])('with %i for an exhausted limit contains the time until it resets', (status) => {
    expect(limitOf(status, exhausted, 'API rate limit exceeded for user ID 1.')).toEqual({
      kind: 'primary',
      waitMs: 30_000,
    });
  });

  test('has its delay computed with the clock of the host, not the local clock', () => {
    const otherClock = { ...exhausted, date: 'Tue, 20 Jan 1990 10:00:00 GMT' };
    const resetAt = Date.parse(otherClock.date) / 1000 + 5;
    expect(usedUpMs(new Headers({ ...otherClock, 'x-ratelimit-reset': String(resetAt) }))).toBe(5_000);
  });

  test('for too many concurrent requests contains its pause, in seconds or as a date', () => {
    const message = 'You have exceeded a secondary rate limit.';
    expect(limitOf(403, { date, 'retry-after': '7' }, message)).toEqual({ kind: 'secondary', waitMs: 7_000 });
    const until = 'Tue, 20 Jan 2026 10:00:09 GMT';
    expect(limitOf(429, { date, 'retry-after': until }, '')).toEqual({ kind: 'secondary', waitMs: 9_000 });
  });

  test('with an exhausted quota is a primary limit, unless its message names a secondary limit', () => {
    const headers = { ...exhausted, 'retry-after': '7' };
    expect(limitOf(403, headers, 'API rate limit exceeded')).toEqual({ kind: 'primary', waitMs: 7_000 });
    expect(limitOf(403, headers, 'You have exceeded a secondary rate limit.')?.kind).toBe('secondary');
  });

  test('without a requested delay has the default delay of the host', () => {
    for (const [status, message] of [
      [403, 'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.'],
      [403, 'You have triggered an abuse detection mechanism.'],
      [429, ''],
    ] as const)
      expect(limitOf(status, { date, 'x-ratelimit-remaining': '10' }, message)).toEqual({
        kind: 'secondary',
        waitMs: 60_000,
      });
  });

  test('for a missing permission is not a rate limit, even if the quota is exhausted', () => {
    expect(limitOf(403, exhausted, 'Resource not accessible by personal access token')).toBeUndefined();
    expect(limitOf(403, { date }, 'Must have admin rights to Repository.')).toBeUndefined();
    expect(limitOf(404, exhausted, 'Not Found')).toBeUndefined();
  });

  test('with invalid headers has a delay between one second and 61 minutes', () => {
    for (const reset of ['0', '-5', 'soon', '1', '99999999999999']) {
      const limit = limitOf(429, { ...exhausted, 'x-ratelimit-reset': reset }, 'rate limit');
      expect(limit?.waitMs).toBeGreaterThanOrEqual(1_000);
      expect(limit?.waitMs).toBeLessThanOrEqual(3_660_000);
    }
  });
});

describe('rate limit headers', () => {
  test.each([
    ['seconds since 1970', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${now + 12}` }, 12_000],
    [
      'fractional seconds since 1970',
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${now + 1.5}` },
      1_500,
    ],
    ['seconds from now', { 'ratelimit-remaining': '0', 'ratelimit-reset': '12' }, 12_000],
    [
      'a date',
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': new Date(now * 1000 + 12_000).toISOString() },
      12_000,
    ],
    [
      'an exact remaining time',
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1', 'x-ratelimit-reset-after': '0.25' },
      250,
    ],
    ['undefined if it is missing', { 'x-ratelimit-remaining': '0' }, undefined],
  ])('contain the reset time as %s', (_, headers, resetMs) => {
    expect(rateLimitOf(new Headers({ ...headers, date } as Record<string, string>))).toEqual({
      remaining: 0,
      resetMs,
    });
  });

  test('that are missing yield no limit and no reset time', () => {
    expect(rateLimitOf(new Headers())).toEqual({ remaining: undefined, resetMs: undefined });
  });
});
