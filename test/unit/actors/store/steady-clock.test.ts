import { expect, test, vi } from 'vitest';
import { SteadyClock } from '../../../../actors/store/steady-clock.ts';

test('the steady clock continues at the recorded sum of steps, and a step changes nothing', () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: 1_000_000 });
  try {
    const clock = new SteadyClock();
    clock.start(-3_600_000);
    expect(clock.now).toBe(4_600_000);
    vi.setSystemTime(9_000_000);
    expect(clock.now).toBe(4_600_000);
    vi.advanceTimersByTime(5_000);
    expect(clock.now).toBe(4_605_000);
  } finally {
    vi.useRealTimers();
  }
});
