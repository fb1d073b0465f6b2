// Retries of failed events (redelivery.ts) with random settings: the attempt after which an event becomes
// dead (is not retried any more), the bounds of its pauses, and deferrals because of rate limits.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defaultRetry, deferral, redelivery } from '../../../machines/redelivery.ts';

const arbRetry = fc
  .record({
    attempts: fc.integer({ min: 1, max: 100 }),
    min_backoff_seconds: fc.double({ min: 0.001, max: 3_600, noNaN: true }),
    /** Difference between the longest and the shortest pause. */
    extra_seconds: fc.double({ min: 0, max: 86_400, noNaN: true }),
    factor: fc.double({ min: 1, max: 10, noNaN: true }),
  })
  .map(({ attempts, min_backoff_seconds, extra_seconds, factor }) => ({
    attempts,
    min_backoff_seconds,
    max_backoff_seconds: min_backoff_seconds + extra_seconds,
    factor,
  }));
const arbRandom = fc.double({ min: 0, max: 1, noNaN: true });
const arbAttempt = fc.integer({ min: 1, max: 120 });
const HOUR_MS = 3_600_000;

/** Returns the pause in milliseconds, or Infinity for a dead event. */
function pauseOf(...args: Parameters<typeof redelivery>): number {
  const decision = redelivery(...args);
  return decision.do === 'retry' ? decision.inMs : Number.POSITIVE_INFINITY;
}

describe('a failed event', () => {
  test('becomes dead exactly after the last attempt or a final failure', () => {
    fc.assert(
      fc.property(arbRetry, arbAttempt, fc.boolean(), arbRandom, (retry, attempt, isFinal, chance) => {
        const decision = redelivery(retry, { attempt, isFinal }, chance);
        expect(decision.do === 'dead').toBe(isFinal || attempt >= retry.attempts);
      }),
    );
  });

  test('has pauses in whole milliseconds, within the configured bounds and jitter', () => {
    fc.assert(
      fc.property(arbRetry, arbAttempt, arbRandom, (retry, attempt, chance) => {
        fc.pre(attempt < retry.attempts);
        const inMs = pauseOf(retry, { attempt }, chance);
        expect(Number.isSafeInteger(inMs)).toBe(true);
        expect(inMs).toBeGreaterThan(0);
        expect(inMs).toBeLessThanOrEqual(Math.max(1, Math.round(retry.max_backoff_seconds * 1000)));
        // The jitter shortens a pause by up to 20 %.
        expect(inMs).toBeGreaterThanOrEqual(Math.floor(retry.min_backoff_seconds * 800));
      }),
    );
  });

  test('has equal or longer pauses after later attempts, and equal or shorter pauses with more jitter', () => {
    fc.assert(
      fc.property(arbRetry, arbAttempt, arbRandom, arbRandom, (retry, attempt, chance, otherChance) => {
        fc.pre(attempt + 1 < retry.attempts);
        expect(pauseOf(retry, { attempt: attempt + 1 }, chance)).toBeGreaterThanOrEqual(
          pauseOf(retry, { attempt }, chance),
        );
        const [low, high] = [Math.min(chance, otherChance), Math.max(chance, otherChance)];
        expect(pauseOf(retry, { attempt }, high)).toBeLessThanOrEqual(pauseOf(retry, { attempt }, low));
      }),
    );
  });

  test('respects the pause requested by the receiver, up to an hour', () => {
    const arbRequestedMs = fc.double({ min: -10, max: 1e12, noNaN: true });
    fc.assert(
      fc.property(arbRetry, arbAttempt, arbRandom, arbRequestedMs, (retry, attempt, chance, retryAfterMs) => {
        fc.pre(attempt < retry.attempts);
        const ownPauseMs = pauseOf(retry, { attempt }, chance);
        const inMs = pauseOf(retry, { attempt, retryAfterMs }, chance);
        expect(inMs).toBeGreaterThanOrEqual(Math.min(HOUR_MS, retryAfterMs));
        expect(inMs).toBe(Math.max(ownPauseMs, Math.min(HOUR_MS, Math.ceil(Math.max(0, retryAfterMs)))));
      }),
    );
  });

  test('is attempted six times within about ten minutes by default', () => {
    const pauses = [1, 2, 3, 4, 5].map((attempt) => pauseOf(defaultRetry, { attempt }, 0.5));
    // Five pauses precede the sixth attempt.
    const minutes = pauses.reduce((sum, ms) => sum + ms, 0) / 60_000;
    expect(minutes).toBeGreaterThan(8);
    expect(minutes).toBeLessThan(12);
    expect(redelivery(defaultRetry, { attempt: 6 }, 0.5)).toEqual({ do: 'dead' });
  });
});

test('a deferral counts as an attempt only if the receiver was contacted, and the event is an hour old or of unknown age', () => {
  const arbInMs = fc.double({ min: -10, max: 1e12, noNaN: true });
  const arbAgeMs = fc.integer({ min: -HOUR_MS, max: 3 * HOUR_MS });
  fc.assert(
    fc.property(
      arbRetry,
      arbAttempt,
      arbRandom,
      arbAgeMs,
      arbInMs,
      fc.boolean(),
      (retry, attempt, chance, ageMs, inMs, isUncontacted) => {
        const decision = deferral(retry, { attempt, ageMs, inMs, isUncontacted }, chance);
        // A negative age is caused by a clock step: the real age may exceed the hour.
        if (!isUncontacted && (ageMs >= HOUR_MS || ageMs < -60_000))
          expect(decision).toEqual(redelivery(retry, { attempt, retryAfterMs: inMs }, chance));
        else expect(decision).toEqual({ do: 'defer', inMs: Math.max(1, Math.ceil(Math.min(HOUR_MS, inMs))) });
      },
    ),
  );
});
