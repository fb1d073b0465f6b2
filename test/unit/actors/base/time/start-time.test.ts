import { afterEach, expect, test, vi } from 'vitest';
import { StartTime } from '../../../../../actors/base/time/start-time.ts';

afterEach(() => vi.useRealTimers());

test('the age of a StartTime is independent of changes of the system clock', () => {
  vi.useFakeTimers({ now: Date.parse('2026-11-22T12:00:00Z') });
  const startTime = new StartTime();
  vi.advanceTimersByTime(90_500);
  for (const set of ['2026-11-22T10:00:00Z', '2026-11-23T12:00:00Z']) {
    vi.setSystemTime(Date.parse(set));
    expect(startTime.ageSeconds).toBe(90);
    expect(new Date(startTime.at).toISOString()).toBe('2026-11-22T12:00:00.000Z');
  }
});
