// Detection of clock steps, from clock readings during suspensions and with late requests and responses.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ClockReading, moreAccurate, stepOf } from '../../../../actors/store/postgres/server-clock.ts';

interface Reading {
  /** Time since the last response. */
  readonly pauseMs: number;
  /** Time until the server reads its clock, and then until this node reads its own clock. */
  readonly askingMs: number;
  readonly answeringMs: number;
  /** Size of the clock step during the pause. */
  readonly setMs: number;
}

const prompt = fc.integer({ min: 0, max: 50 });
const anyTime = fc.oneof(prompt, fc.integer({ min: 0, max: 60_000 }));
const readingOf = (takesMs: fc.Arbitrary<number>, setMs: fc.Arbitrary<number> = fc.constant(0)) =>
  fc.record<Reading>({
    pauseMs: fc.integer({ min: 0, max: 5_000 }),
    askingMs: takesMs,
    answeringMs: takesMs,
    setMs,
  });
/** Larger than an undetected step and the uncertainty of two prompt readings. */
const set = fc.integer({ min: 1_300, max: 700_000 }).chain((byMs) => fc.constantFrom(byMs, -byMs));
const few = { maxLength: 10 };

/** Returns the detected clock step of each reading, with its uncertainty. */
function readAll(all: readonly Reading[]) {
  let uptimeMs = 0;
  let offsetMs = 1_700_000_000_000;
  let noted = 0;
  let seen: ClockReading | undefined;
  return all.map(({ pauseMs, askingMs, answeringMs, setMs }) => {
    offsetMs += setMs;
    const requestedMs = uptimeMs + pauseMs;
    const at = requestedMs + askingMs + offsetMs;
    uptimeMs = requestedMs + askingMs + answeringMs;
    const reading = { at, corrections: 0, requestedMs, answeredMs: uptimeMs };
    const byMs = stepOf(noted, seen, reading);
    const openMs = widthOf(reading) + (seen === undefined ? 0 : widthOf(seen));
    seen = byMs === 0 ? moreAccurate(seen, reading) : reading;
    noted = at;
    return { byMs, openMs };
  });
}

const widthOf = ({ requestedMs, answeredMs }: ClockReading) => answeredMs - requestedMs;

test('a clock without steps is never corrected, for any delay of requests, responses or processes', () => {
  const readings = fc.array(readingOf(anyTime), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(readings, (all) => {
      expect(readAll(all).every(({ byMs }) => byMs === 0)).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test('a clock step is detected with its full size by the next reading that the database answers promptly', () => {
  const parts = fc.tuple(
    readingOf(prompt),
    fc.array(readingOf(anyTime), few),
    readingOf(anyTime, set),
    fc.array(readingOf(anyTime), few),
    readingOf(prompt),
  );
  fc.assert(
    fc.property(parts, ([first, before, setting, after, last]) => {
      const steps = readAll([first, ...before, setting, ...after, last]).filter(({ byMs }) => byMs !== 0);
      expect(steps).toHaveLength(1);
      const [{ byMs, openMs } = { byMs: 0, openMs: 0 }] = steps;
      expect(byMs).toBeGreaterThanOrEqual(setting.setMs);
      expect(byMs).toBeLessThanOrEqual(setting.setMs + openMs);
    }),
    { numRuns: 2_000 },
  );
});
