import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defaultRetry, deferral, redelivery } from '../../../machines/redelivery.ts';

const settings = fc
  .record({
    attempts: fc.integer({ min: 1, max: 100 }),
    min_backoff_seconds: fc.double({ min: 0.001, max: 3_600, noNaN: true }),
    more: fc.double({ min: 0, max: 86_400, noNaN: true }),
    factor: fc.double({ min: 1, max: 10, noNaN: true }),
  })
  .map(({ attempts, min_backoff_seconds, more, factor }) => ({
    attempts,
    min_backoff_seconds,
    max_backoff_seconds: min_backoff_seconds + more,
    factor,
  }));
const random = fc.double({ min: 0, max: 1, noNaN: true });
const attempt = fc.integer({ min: 1, max: 120 });
const HOUR_MS = 3_600_000;

/** Returns the pause, or Infinity for a dead event. */
function pause(...args: Parameters<typeof redelivery>): number {
  const decision = redelivery(...args);
  return decision.do === 'retry' ? decision.inMs : Number.POSITIVE_INFINITY;
}

describe('a failed event', () => {
  test('becomes dead exactly after the last attempt or a final failure', () => {
    fc.assert(
      fc.property(settings, attempt, fc.boolean(), random, (retry, n, isFinal, chance) => {
        const decision = redelivery(retry, { attempt: n, isFinal }, chance);
        expect(decision.do === 'dead').toBe(isFinal || n >= retry.attempts);
      }),
    );
  });

  test('has pauses in whole milliseconds, within the configured bounds and jitter', () => {
    fc.assert(
      fc.property(settings, attempt, random, (retry, n, chance) => {
        fc.pre(n < retry.attempts);
        const inMs = pause(retry, { attempt: n }, chance);
        expect(Number.isSafeInteger(inMs)).toBe(true);
        expect(inMs).toBeGreaterThan(0);
        expect(inMs).toBeLessThanOrEqual(Math.max(1, Math.round(retry.max_backoff_seconds * 1000)));
        expect(inMs).toBeGreaterThanOrEqual(Math.floor(retry.min_backoff_seconds * 800));
      }),
    );
  });

  test('has no shorter pause after a later attempt, and no longer pause with more jitter', () => {
    fc.assert(
      fc.property(settings, attempt, random, random, (retry, n, a, b) => {
        fc.pre(n + 1 < retry.attempts);
        expect(pause(retry, { attempt: n + 1 }, a)).toBeGreaterThanOrEqual(pause(retry, { attempt: n }, a));
        const [low, high] = a < b ? [a, b] : [b, a];
        expect(pause(retry, { attempt: n }, high)).toBeLessThanOrEqual(pause(retry, { attempt: n }, low));
      }),
    );
  });

  test('respects the pause requested by the receiver, up to an hour', () => {
    const requestedMs = fc.double({ min: -10, max: 1e12, noNaN: true });
    fc.assert(
      fc.property(settings, attempt, random, requestedMs, (retry, n, chance, retryAfterMs) => {
        fc.pre(n < retry.attempts);
        const own = pause(retry, { attempt: n }, chance);
        const inMs = pause(retry, { attempt: n, retryAfterMs }, chance);
        expect(inMs).toBeGreaterThanOrEqual(Math.min(HOUR_MS, retryAfterMs));
        expect(inMs).toBe(Math.max(own, Math.min(HOUR_MS, Math.ceil(Math.max(0, retryAfterMs)))));
      }),
    );
  });

  test('is attempted six times within about ten minutes by default', () => {
    const pauses = [1, 2, 3, 4, 5].map((n) => pause(defaultRetry, { attempt: n }, 0.5));
    const minutes = pauses.reduce((sum, ms) => sum + ms, 0) / 60_000;
    expect(minutes).toBeGreaterThan(8);
    expect(minutes).toBeLessThan(12);
    expect(redelivery(defaultRetry, { attempt: 6 }, 0.5)).toEqual({ do: 'dead' });
  });
});

test('a deferral counts as an attempt only if the event was sent, and is an hour old or of unknown age', () => {
  const inMs = fc.double({ min: -10, max: 1e12, noNaN: true });
  const ageMs = fc.integer({ min: -HOUR_MS, max: 3 * HOUR_MS });
  fc.assert(
    fc.property(
      settings,
      attempt,
      random,
      ageMs,
      inMs,
      fc.boolean(),
      (retry, n, chance, age, ms, isUncontacted) => {
        const decision = deferral(retry, { attempt: n, ageMs: age, inMs: ms, isUncontacted }, chance);
        // A negative age is caused by a clock step: the real age may exceed the hour.
        if (!isUncontacted && (age >= HOUR_MS || age < -60_000))
          expect(decision).toEqual(redelivery(retry, { attempt: n, retryAfterMs: ms }, chance));
        else expect(decision).toEqual({ do: 'defer', inMs: Math.max(1, Math.ceil(Math.min(HOUR_MS, ms))) });
      },
    ),
  );
});
