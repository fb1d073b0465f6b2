import { afterEach, expect, test, vi } from 'vitest';
import { StartTime } from '../../../../../actors/base/time/start-time.ts';

afterEach(() => vi.useRealTimers());

test('what has lasted a while has lasted that long however the clock is set meanwhile', () => {
  vi.useFakeTimers({ now: Date.parse('2026-11-22T12:00:00Z') });
  const beginning = new StartTime();
  vi.advanceTimersByTime(90_500);
  for (const set of ['2026-11-22T10:00:00Z', '2026-11-23T12:00:00Z']) {
    vi.setSystemTime(Date.parse(set));
    expect(beginning.ageSeconds).toBe(90);
    expect(new Date(beginning.at).toISOString()).toBe('2026-11-22T12:00:00.000Z');
  }
});
