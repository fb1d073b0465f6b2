import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EngineClock, NO_MOMENT } from '../../../../../actors/store/sqlite/clock.ts';

const START = Date.UTC(2026, 10, 22);

/** Advances both clocks, changes the first, and returns the time after every step. */
function momentsAfter(steps: readonly { readonly passedMs: number; readonly setByMs: number }[]) {
  let time = START;
  let uptime = 5_000;
  const clock = new EngineClock(
    () => time,
    () => uptime,
  );
  let last = clock.after(NO_MOMENT);
  return steps.map(({ passedMs, setByMs }) => {
    time += passedMs + setByMs;
    uptime += passedMs;
    last = clock.after(last);
    return last;
  });
}

test('the time of the engine stays constant until a clock that was set back slightly has caught up', () => {
  const moments = momentsAfter([
    { passedMs: 10, setByMs: -600 },
    { passedMs: 500, setByMs: 0 },
    { passedMs: 500, setByMs: 0 },
  ]);
  expect(moments.map(({ time, setByMs }) => [time - START, setByMs])).toEqual([
    [0, 0],
    [0, 0],
    [410, 0],
  ]);
});

test('several small steps back of the clock count as one large step', () => {
  const moments = momentsAfter([
    { passedMs: 0, setByMs: -600 },
    { passedMs: 0, setByMs: -600 },
  ]);
  expect(moments.map(({ time, setByMs }) => [time - START, setByMs])).toEqual([
    [0, 0],
    [-1_200, -1_200],
  ]);
});

test('clock steps and elapsed time are distinguished, and time goes back only by a step', () => {
  const step = fc.record({
    passedMs: fc.nat(100_000),
    setByMs: fc.oneof(fc.constant(0), fc.integer({ min: -100_000, max: 100_000 })),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1 }), (steps) => {
      const moments = momentsAfter(steps);
      let before = START;
      for (const { time, setByMs } of moments) {
        if (setByMs === 0) expect(time).toBeGreaterThanOrEqual(before);
        else expect(Math.abs(setByMs)).toBeGreaterThan(1_000);
        before = time;
      }
    }),
  );
});

test('without a monotonic clock all forward changes count as elapsed time', () => {
  let time = START;
  const clock = new EngineClock(() => time, undefined);
  const first = clock.after(NO_MOMENT);
  time += 3_600_000;
  const second = clock.after(first);
  expect(second).toMatchObject({ time, setByMs: 0 });
  time -= 3_600_000;
  expect(clock.after(second)).toMatchObject({ time, setByMs: -3_600_000 });
});
