import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { bucketOf } from '../../../../tool-servers/repository-host/bucket.ts';
import { RateMeter } from '../../../../tool-servers/repository-host/rate-meter.ts';

const date = 'Tue, 20 Jan 2026 10:00:00 GMT';
const usedUp = (seconds: number) =>
  new Headers({
    date,
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': String(Date.parse(date) / 1000 + seconds),
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
    meter.learn('write', usedUp(20));
    for (const bucket of ['core', 'write'] as const)
      expect(meter.closed(bucket)).toEqual({ why: 'primary', waitMs: 20_000 });
    expect(meter.closed('search')).toBeUndefined();
  });

  test('closes a bucket of which the host says that nothing is left, and no other', () => {
    const meter = new RateMeter({ hasToken: true });
    meter.learn('core', usedUp(20));
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
