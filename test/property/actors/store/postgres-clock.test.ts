// Readings of a server's clock by a node that stands still, asks late and is answered late: what it takes for a clock that was set.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ClockSeen, setBy, sharper } from '../../../../actors/store/postgres/server-clock.ts';

interface Reading {
  /** Since the last reading was answered. */
  readonly pauseMs: number;
  /** Until the server reads its clock, and from then on until this node looks at its own. */
  readonly askingMs: number;
  readonly answeringMs: number;
  /** By how much the clock is set in the pause. */
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
/** By more than is not noticed, and what two prompt readings leave open. */
const set = fc.integer({ min: 1_300, max: 700_000 }).chain((byMs) => fc.constantFrom(byMs, -byMs));
const few = { maxLength: 10 };

/** By how much each reading takes the clock for set, with what that may be too much. */
function readAll(all: readonly Reading[]) {
  let uptimeMs = 0;
  let offsetMs = 1_700_000_000_000;
  let noted = 0;
  let seen: ClockSeen | undefined;
  return all.map(({ pauseMs, askingMs, answeringMs, setMs }) => {
    offsetMs += setMs;
    const askedMs = uptimeMs + pauseMs;
    const at = askedMs + askingMs + offsetMs;
    uptimeMs = askedMs + askingMs + answeringMs;
    const reading = { at, sets: 0, askedMs, answeredMs: uptimeMs };
    const byMs = setBy(noted, seen, reading);
    const openMs = widthOf(reading) + (seen === undefined ? 0 : widthOf(seen));
    seen = byMs === 0 ? sharper(seen, reading) : reading;
    noted = at;
    return { byMs, openMs };
  });
}

const widthOf = ({ askedMs, answeredMs }: ClockSeen) => answeredMs - askedMs;

test('a clock that nobody sets is never taken for set, however late a node asks, is answered, or goes on (PSC1)', () => {
  const readings = fc.array(readingOf(anyTime), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(readings, (all) => {
      expect(readAll(all).every(({ byMs }) => byMs === 0)).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test('one that is set is found by the next prompt reading, and by no less than it was set by (PSC2)', () => {
  const parts = fc.tuple(
    readingOf(prompt),
    fc.array(readingOf(anyTime), few),
    readingOf(anyTime, set),
    fc.array(readingOf(anyTime), few),
    readingOf(prompt),
  );
  fc.assert(
    fc.property(parts, ([first, before, setting, after, last]) => {
      const said = readAll([first, ...before, setting, ...after, last]).filter(({ byMs }) => byMs !== 0);
      expect(said).toHaveLength(1);
      const [{ byMs, openMs } = { byMs: 0, openMs: 0 }] = said;
      expect(byMs).toBeGreaterThanOrEqual(setting.setMs);
      expect(byMs).toBeLessThanOrEqual(setting.setMs + openMs);
    }),
    { numRuns: 2_000 },
  );
});
