import { describe, expect, test } from 'vitest';
import { ApiAnswer } from '../../../../libs/rest/http-api.ts';
import { limitOf as limitOfAnswer, rateLimitOf, usedUpMs } from '../../../../libs/rest/rate-limit.ts';

const date = 'Tue, 20 Jan 2026 10:00:00 GMT';
const now = Date.parse(date) / 1000;

const limitOf = (status: number, headers: Record<string, string>, message: string) =>
  limitOfAnswer(new ApiAnswer(status, new Headers(headers), Buffer.from(JSON.stringify({ message }))));

describe('a refusal', () => {
  const used = { date, 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(now + 30) };

  test.each([403, 429])('with %i for a limit that is used up names the wait until it opens', (status) => {
    expect(limitOf(status, used, 'API rate limit exceeded for user ID 1.')).toEqual({
      kind: 'primary',
      waitMs: 30_000,
    });
  });

  test('is counted by the clock of the host, however wrong the one here is', () => {
    const elsewhere = { ...used, date: 'Tue, 20 Jan 1990 10:00:00 GMT' };
    const opensThen = Date.parse(elsewhere.date) / 1000 + 5;
    expect(usedUpMs(new Headers({ ...elsewhere, 'x-ratelimit-reset': String(opensThen) }))).toBe(5_000);
  });

  test('for too much at once takes the pause it names, in seconds or as a date', () => {
    const said = 'You have exceeded a secondary rate limit.';
    expect(limitOf(403, { date, 'retry-after': '7' }, said)).toEqual({ kind: 'secondary', waitMs: 7_000 });
    const until = 'Tue, 20 Jan 2026 10:00:09 GMT';
    expect(limitOf(429, { date, 'retry-after': until }, '')).toEqual({ kind: 'secondary', waitMs: 9_000 });
  });

  test('of a bucket that is used up and names its wait closes that bucket alone', () => {
    const headers = { ...used, 'retry-after': '7' };
    expect(limitOf(403, headers, 'API rate limit exceeded')).toEqual({ kind: 'primary', waitMs: 7_000 });
    expect(limitOf(403, headers, 'You have exceeded a secondary rate limit.')?.kind).toBe('secondary');
  });

  test('that names no pause gets the one that the host asks for in general', () => {
    for (const [status, said] of [
      [403, 'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.'],
      [403, 'You have triggered an abuse detection mechanism.'],
      [429, ''],
    ] as const)
      expect(limitOf(status, { date, 'x-ratelimit-remaining': '10' }, said)).toEqual({
        kind: 'secondary',
        waitMs: 60_000,
      });
  });

  test('for want of a permission is none for a limit, even when the last request of the hour was spent on it', () => {
    expect(limitOf(403, used, 'Resource not accessible by personal access token')).toBeUndefined();
    expect(limitOf(403, { date }, 'Must have admin rights to Repository.')).toBeUndefined();
    expect(limitOf(404, used, 'Not Found')).toBeUndefined();
  });

  test('with nonsense in its headers still gives a wait between a second and an hour and a minute', () => {
    for (const reset of ['0', '-5', 'soon', '1', '99999999999999']) {
      const limit = limitOf(429, { ...used, 'x-ratelimit-reset': reset }, 'rate limit');
      expect(limit?.waitMs).toBeGreaterThanOrEqual(1_000);
      expect(limit?.waitMs).toBeLessThanOrEqual(3_660_000);
    }
  });
});

describe('the limits in headers', () => {
  test.each([
    ['a time of day', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${now + 12}` }, 12_000],
    ['one with a fraction', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${now + 1.5}` }, 1_500],
    ['seconds from now', { 'ratelimit-remaining': '0', 'ratelimit-reset': '12' }, 12_000],
    [
      'a date',
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': new Date(now * 1000 + 12_000).toISOString() },
      12_000,
    ],
    [
      'what is left of it, which is exact',
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1', 'x-ratelimit-reset-after': '0.25' },
      250,
    ],
    ['nothing', { 'x-ratelimit-remaining': '0' }, undefined],
  ])('say when they open again as %s', (_, headers, resetMs) => {
    expect(rateLimitOf(new Headers({ ...headers, date } as Record<string, string>))).toEqual({
      remaining: 0,
      resetMs,
    });
  });

  test('say nothing where they are missing', () => {
    expect(rateLimitOf(new Headers())).toEqual({ remaining: undefined, resetMs: undefined });
  });
});
