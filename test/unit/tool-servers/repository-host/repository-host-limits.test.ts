import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { bucketOf, limitOf, usedUpMs } from '../../../../tool-servers/repository-host/rate-limit.ts';
import { RateMeter } from '../../../../tool-servers/repository-host/rate-meter.ts';

const date = 'Tue, 20 Jan 2026 10:00:00 GMT';
const now = Date.parse(date) / 1000;

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
    expect(usedUpMs({ ...elsewhere, 'x-ratelimit-reset': opensThen })).toBe(5_000);
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

test('requests are counted in the buckets of the host', () => {
  expect(bucketOf('GET /search/code')).toBe('code_search');
  expect(bucketOf('GET /search/issues')).toBe('search');
  expect(bucketOf('GET /repos/{owner}/{repo}')).toBe('core');
  expect(bucketOf('POST /repos/{owner}/{repo}/issues')).toBe('write');
});

describe('the meter', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('lets thirty searches go at once, and the next one when the first is a minute old', () => {
    const meter = new RateMeter({ hasToken: true });
    for (let count = 0; count < 30; count++) {
      expect(meter.begin('search')).toBeUndefined();
      vi.advanceTimersByTime(100);
    }
    const closed = meter.begin('search');
    expect(closed?.why).toBe('pace');
    expect(closed?.waitMs).toBeGreaterThan(57_000);
    expect(closed?.waitMs).toBeLessThan(59_000);
    expect(meter.begin('core')).toBeUndefined();
    vi.advanceTimersByTime(closed?.waitMs ?? 0);
    expect(meter.begin('search')).toBeUndefined();
    expect(meter.begin('search')?.why).toBe('pace');
  });

  test.each([
    ['code_search', true, 10],
    ['search', false, 10],
    ['search', true, 30],
  ] as const)(
    'never begins more in any minute than the host allows: %s, token %s',
    (bucket, hasToken, allowed) => {
      const meter = new RateMeter({ hasToken });
      const begun: number[] = [];
      for (let step = 0; step < 3_000; step++) {
        if (meter.begin(bucket) === undefined) begun.push(performance.now());
        vi.advanceTimersByTime(100);
      }
      for (const first of begun)
        expect(begun.filter((at) => at >= first && at < first + 60_000).length).toBeLessThanOrEqual(allowed);
      // It is a pace, not a stop: most of what five minutes allow did begin.
      expect(begun.length).toBeGreaterThan(4 * allowed);
    },
  );

  test('lets one write begin a second, and counts only what begins', () => {
    const meter = new RateMeter({ hasToken: true });
    expect(meter.closed('write')).toBeUndefined();
    expect(meter.begin('write')).toBeUndefined();
    for (let asked = 0; asked < 5; asked++) {
      expect(meter.closed('write')?.why).toBe('pace');
      expect(meter.begin('write')?.why).toBe('pace');
    }
    vi.advanceTimersByTime(1_000);
    expect(meter.begin('write')).toBeUndefined();
    expect(meter.begin('core')).toBeUndefined();
  });

  test('closes writing with the rest of the API, in which the host counts it', () => {
    const meter = new RateMeter({ hasToken: true });
    meter.learn('write', { date, 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': now + 20 });
    for (const bucket of ['core', 'write'] as const)
      expect(meter.closed(bucket)).toEqual({ why: 'primary', waitMs: 20_000 });
    expect(meter.closed('search')).toBeUndefined();
  });

  test('closes a bucket of which the host says that nothing is left, and no other', () => {
    const meter = new RateMeter({ hasToken: true });
    meter.learn('core', { date, 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': now + 20 });
    expect(meter.begin('core')).toEqual({ why: 'primary', waitMs: 20_000 });
    expect(meter.begin('search')).toBeUndefined();
    vi.advanceTimersByTime(20_000);
    expect(meter.begin('core')).toBeUndefined();
  });

  test('stops everything for a pause that the host asks for, and a shorter one does not end it', () => {
    const meter = new RateMeter({ hasToken: true });
    meter.refused('search', { kind: 'secondary', waitMs: 10_000 });
    meter.refused('core', { kind: 'secondary', waitMs: 1_000 });
    vi.advanceTimersByTime(2_000);
    for (const bucket of ['core', 'search', 'code_search'] as const)
      expect(meter.begin(bucket)).toEqual({ why: 'secondary', waitMs: 8_000 });
    vi.advanceTimersByTime(8_000);
    expect(meter.begin('core')).toBeUndefined();
  });
});
