// Stalls and clock steps with simulated clocks: the cause of a stall follows from the used processor time.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ProcessWatch } from '../../../../actors/gateway/process-watch.ts';

const TICK_MS = 500;
let [steadyMs, clockMs, usedMs] = [0, 0, 0];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  vi.spyOn(performance, 'now').mockImplementation(() => steadyMs);
  vi.spyOn(Date, 'now').mockImplementation(() => clockMs);
  vi.spyOn(process, 'cpuUsage').mockImplementation(() => ({ user: usedMs * 1000, system: 0 }));
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Returns the alarms after one tick that advances the clocks by these times. */
async function recordedAfter(passed: { steady: number; clock: number; used: number }) {
  const record = vi.fn();
  const watch = new ProcessWatch({ record });
  steadyMs += passed.steady;
  clockMs += passed.clock;
  usedMs += passed.used;
  vi.advanceTimersByTime(TICK_MS);
  await watch.drain();
  expect(vi.getTimerCount()).toBe(0);
  return record.mock.calls;
}

test('a late timer is reported as an event loop stall, caused by own work or by a suspended process', async () => {
  expect(await recordedAfter({ steady: 2_400, clock: 2_400, used: 2_400 })).toEqual([]);
  expect(await recordedAfter({ steady: 3_500, clock: 3_500, used: 3_400 })).toEqual([
    ['event_loop_stalled', expect.stringMatching(/for 3\.0 s, because its own work blocked the event loop/)],
  ]);
  expect(await recordedAfter({ steady: 3_500, clock: 3_500, used: 200 })).toEqual([
    [
      'event_loop_stalled',
      expect.stringMatching(/for 3\.0 s, because its process was suspended.*\(0\.2 s\)/),
    ],
  ]);
});

test.each([
  [4_000, undefined],
  [-4_000, undefined],
  [6_000, 'forward by 6.0 s'],
  [-6_000, 'back by 6.0 s'],
])('a jump of the system clock by %i ms is reported as %s', async (stepMs, text) => {
  const calls = await recordedAfter({ steady: TICK_MS, clock: TICK_MS + stepMs, used: 0 });
  expect(calls).toEqual(text === undefined ? [] : [['clock_changed', expect.stringContaining(text)]]);
});
