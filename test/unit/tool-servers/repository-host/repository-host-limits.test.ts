import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { bucketOf } from '../../../../tool-servers/repository-host/bucket.ts';
import { RateMeter } from '../../../../tool-servers/repository-host/rate-meter.ts';

const date = 'Tue, 20 Jan 2026 10:00:00 GMT';
const quotaExceeded = (seconds: number) =>
  new Headers({
    date,
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': String(Date.parse(date) / 1000 + seconds),
  });

test('each request is counted in the rate limit bucket that the repository host uses for it', () => {
  expect(bucketOf('GET /search/code')).toBe('code_search');
  expect(bucketOf('GET /search/issues')).toBe('search');
  expect(bucketOf('GET /repos/{owner}/{repo}')).toBe('core');
  expect(bucketOf('POST /repos/{owner}/{repo}/issues')).toBe('write');
});

describe('the rate meter', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('allows thirty searches immediately, and the next one when the first is a minute old', () => {
    const meter = new RateMeter({ hasToken: true });
    for (let count = 0; count < 30; count++) {
      expect(meter.tryBegin('search')).toBeUndefined();
      vi.advanceTimersByTime(100);
    }
    const closed = meter.tryBegin('search');
    expect(closed?.why).toBe('pace');
    expect(closed?.waitMs).toBeGreaterThan(57_000);
    expect(closed?.waitMs).toBeLessThan(59_000);
    expect(meter.tryBegin('core')).toBeUndefined();
    vi.advanceTimersByTime(closed?.waitMs ?? 0);
    expect(meter.tryBegin('search')).toBeUndefined();
    expect(meter.tryBegin('search')?.why).toBe('pace');
  });

  test.each([
    ['code_search', true, 10],
    ['search', false, 10],
    ['search', true, 30],
  ] as const)("never exceeds the host's limit in any minute: %s, token %s", (bucket, hasToken, limit) => {
    const meter = new RateMeter({ hasToken });
    const startTimes: number[] = [];
    for (let step = 0; step < 3_000; step++) {
      if (meter.tryBegin(bucket) === undefined) startTimes.push(performance.now());
      vi.advanceTimersByTime(100);
    }
    for (const first of startTimes)
      expect(startTimes.filter((at) => at >= first && at < first + 60_000).length).toBeLessThanOrEqual(limit);
    // The limit does not block requests completely: most requests allowed in five minutes ran.
    expect(startTimes.length).toBeGreaterThan(4 * limit);
  });

  test('allows one write per second, and counts only started writes', () => {
    const meter = new RateMeter({ hasToken: true });
    expect(meter.blockOf('write')).toBeUndefined();
    expect(meter.tryBegin('write')).toBeUndefined();
    for (let requestNumber = 0; requestNumber < 5; requestNumber++) {
      expect(meter.blockOf('write')?.why).toBe('pace');
      expect(meter.tryBegin('write')?.why).toBe('pace');
    }
    vi.advanceTimersByTime(1_000);
    expect(meter.tryBegin('write')).toBeUndefined();
    expect(meter.tryBegin('core')).toBeUndefined();
  });

  test('blocks writes and other core requests together, because they share a quota of the host', () => {
    const meter = new RateMeter({ hasToken: true });
    meter.updateFrom('write', quotaExceeded(20));
    for (const bucket of ['core', 'write'] as const)
      expect(meter.blockOf(bucket)).toEqual({ why: 'primary', waitMs: 20_000 });
    expect(meter.blockOf('search')).toBeUndefined();
  });

  test('blocks an exhausted bucket until its reset, and no other bucket', () => {
    const meter = new RateMeter({ hasToken: true });
    meter.updateFrom('core', quotaExceeded(20));
    expect(meter.tryBegin('core')).toEqual({ why: 'primary', waitMs: 20_000 });
    expect(meter.tryBegin('search')).toBeUndefined();
    vi.advanceTimersByTime(20_000);
    expect(meter.tryBegin('core')).toBeUndefined();
  });

  test('blocks all requests during a requested pause, which a later shorter pause does not end', () => {
    const meter = new RateMeter({ hasToken: true });
    meter.recordRefusal('search', { kind: 'secondary', waitMs: 10_000 });
    meter.recordRefusal('core', { kind: 'secondary', waitMs: 1_000 });
    vi.advanceTimersByTime(2_000);
    for (const bucket of ['core', 'search', 'code_search'] as const)
      expect(meter.tryBegin(bucket)).toEqual({ why: 'secondary', waitMs: 8_000 });
    vi.advanceTimersByTime(8_000);
    expect(meter.tryBegin('core')).toBeUndefined();
  });
});
