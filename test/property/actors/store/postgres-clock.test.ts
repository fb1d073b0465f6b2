// Detection of steps of the database's clock by a node (one gateway of a cluster). The node reads the clock
// with requests that may be late, and the node may be suspended between two requests. The tests simulate
// readings of a clock that is set by a known amount.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ClockReading, moreAccurate, stepOf } from '../../../../actors/store/postgres/server-clock.ts';

interface Reading {
  /** Time since the last response. */
  readonly pauseMs: number;
  /** Time until the database reads its clock. */
  readonly requestMs: number;
  /** Time from the reading of the clock until the node receives the response. */
  readonly responseMs: number;
  /** Size of the clock step during the pause. */
  readonly clockStepMs: number;
}

const promptMs = fc.integer({ min: 0, max: 50 });
const anyMs = fc.oneof(promptMs, fc.integer({ min: 0, max: 60_000 }));
const readingOf = (takesMs: fc.Arbitrary<number>, clockStepMs: fc.Arbitrary<number> = fc.constant(0)) =>
  fc.record<Reading>({
    pauseMs: fc.integer({ min: 0, max: 5_000 }),
    requestMs: takesMs,
    responseMs: takesMs,
    clockStepMs,
  });
/** Steps up to 1,000 ms are ignored; each of two prompt readings is uncertain by up to 100 ms. */
const detectableStepMs = fc
  .integer({ min: 1_300, max: 700_000 })
  .chain((byMs) => fc.constantFrom(byMs, -byMs));
const few = { maxLength: 10 };

/** Returns the detected clock steps and uncertainties of the readings. */
function detectSteps(readings: readonly Reading[]) {
  /** Monotonic clock of the node. */
  let uptimeMs = 0;
  /** Difference between the database's clock and the uptime. */
  let offsetMs = 1_700_000_000_000;
  let previousAt = 0;
  /** The reading with which the next one is compared. */
  let reference: ClockReading | undefined;
  return readings.map(({ pauseMs, requestMs, responseMs, clockStepMs }) => {
    offsetMs += clockStepMs;
    const requestedMs = uptimeMs + pauseMs;
    const at = requestedMs + requestMs + offsetMs;
    uptimeMs = requestedMs + requestMs + responseMs;
    const reading = { at, corrections: 0, shiftMs: 0, requestedMs, answeredMs: uptimeMs };
    const byMs = stepOf(previousAt, reference, reading);
    const uncertaintyMs = widthOf(reading) + (reference === undefined ? 0 : widthOf(reference));
    reference = byMs === 0 ? moreAccurate(reference, reading) : reading;
    previousAt = at;
    return { byMs, uncertaintyMs };
  });
}

/** Returns the duration of the database's clock reading. */
const widthOf = ({ requestedMs, answeredMs }: ClockReading) => answeredMs - requestedMs;

test('a clock without steps is never corrected, for any delay of requests, responses or processes', () => {
  const anyReadings = fc.array(readingOf(anyMs), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(anyReadings, (readings) => {
      expect(detectSteps(readings).every(({ byMs }) => byMs === 0)).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test('a step of the database clock is detected once, with its size, at the latest by the next prompt reading', () => {
  const anyReadings = fc.tuple(
    readingOf(promptMs),
    fc.array(readingOf(anyMs), few),
    readingOf(anyMs, detectableStepMs),
    fc.array(readingOf(anyMs), few),
    readingOf(promptMs),
  );
  fc.assert(
    fc.property(anyReadings, ([first, before, withStep, after, last]) => {
      const steps = detectSteps([first, ...before, withStep, ...after, last]).filter(
        ({ byMs }) => byMs !== 0,
      );
      expect(steps).toHaveLength(1);
      const [{ byMs, uncertaintyMs } = { byMs: 0, uncertaintyMs: 0 }] = steps;
      // The detected step exceeds the real one by at most the uncertainty.
      expect(byMs).toBeGreaterThanOrEqual(withStep.clockStepMs);
      expect(byMs).toBeLessThanOrEqual(withStep.clockStepMs + uncertaintyMs);
    }),
    { numRuns: 2_000 },
  );
});
