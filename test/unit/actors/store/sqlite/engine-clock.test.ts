import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EngineClock, NO_MOMENT } from '../../../../../actors/store/sqlite/clock.ts';

const START = Date.UTC(2026, 10, 22);

/** Both clocks go on, and the first is set; gives the moments after each. */
function momentsOf(steps: readonly { readonly passedMs: number; readonly setByMs: number }[]) {
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

test('time stands until a clock that was set back a little has come up to it (EC1)', () => {
  const moments = momentsOf([
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

test('several small steps back are one large one', () => {
  const moments = momentsOf([
    { passedMs: 0, setByMs: -600 },
    { passedMs: 0, setByMs: -600 },
  ]);
  expect(moments.map(({ time, setByMs }) => [time - START, setByMs])).toEqual([
    [0, 0],
    [-1_200, -1_200],
  ]);
});

test('what it was set by and what has passed are told apart, and time goes back in no other way (EC1, EC2)', () => {
  const step = fc.record({
    passedMs: fc.nat(100_000),
    setByMs: fc.oneof(fc.constant(0), fc.integer({ min: -100_000, max: 100_000 })),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1 }), (steps) => {
      const moments = momentsOf(steps);
      let before = START;
      for (const { time, setByMs } of moments) {
        if (setByMs === 0) expect(time).toBeGreaterThanOrEqual(before);
        else expect(Math.abs(setByMs)).toBeGreaterThan(1_000);
        before = time;
      }
    }),
  );
});

test('without the second clock all of what the first goes forward has passed', () => {
  let time = START;
  const clock = new EngineClock(() => time, undefined);
  const first = clock.after(NO_MOMENT);
  time += 3_600_000;
  const second = clock.after(first);
  expect(second).toMatchObject({ time, setByMs: 0 });
  time -= 3_600_000;
  expect(clock.after(second)).toMatchObject({ time, setByMs: -3_600_000 });
});
