// Restart decisions for a server with any restart policy, ending (the reason of its end) and earlier
// restarts: the pause, the limit of restarts per period, and the independence from other state (invariant A7
// in ARCHITECTURE.md).

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideRestart, type Ending, type RestartPolicy, restartPolicy } from '../../../machines/policy.ts';

const anyPolicy: fc.Arbitrary<RestartPolicy> = fc.record({
  restart: fc.constantFrom('permanent', 'transient', 'temporary'),
  intensity: fc.nat({ max: 6 }),
  periodMs: fc.integer({ min: 1, max: 5000 }),
  onLimit: fc.constantFrom('park', 'escalate'),
  parkMs: fc.nat({ max: 5000 }),
  backoff: fc
    .record({
      minMs: fc.integer({ min: 1, max: 500 }),
      more: fc.nat({ max: 5000 }),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    .map(({ minMs, more, jitter }) => ({ minMs, maxMs: minMs + more, jitter })),
});
const anyEnding: fc.Arbitrary<Ending> = fc.oneof(
  fc.constant({ kind: 'done' } as const),
  fc.anything().map((error) => ({ kind: 'failed', error }) as const),
  // Failures that request a pause, in the error or in its cause.
  fc
    .integer({ min: -10, max: 10_000_000 })
    .chain((requestedPauseMs) =>
      fc
        .constantFrom({ requestedPauseMs }, new Error('start', { cause: { requestedPauseMs } }))
        .map((error) => ({ kind: 'failed', error, requestedPauseMs }) as const),
    ),
);
/** Pause that an ending requests, in milliseconds; the maximum is an hour. */
const requestedPauseOf = (ending: object) =>
  'requestedPauseMs' in ending ? Math.min(3_600_000, Math.max(0, Number(ending.requestedPauseMs))) : 0;
/** The random number for the pause jitter. */
const anyRandom = fc.double({ min: 0, max: 1, noNaN: true });
/** Times of earlier restarts. The decision is at 9,000 ms. */
const restartTimes = fc.array(fc.nat({ max: 9000 }));

describe('the restart decision for a failed server', () => {
  test('has a pause above 0, within the limits of the policy or as long as the server requested', () => {
    fc.assert(
      fc.property(anyPolicy, anyEnding, restartTimes, anyRandom, (policy, ending, times, random) => {
        const decision = decideRestart(policy, ending, times, 9000, random);
        const requestedMs = requestedPauseOf(ending);
        if (decision.do === 'park') expect(decision.forMs).toBe(Math.max(policy.parkMs, requestedMs));
        if (decision.do !== 'restart') return;
        expect(decision.inMs).toBeGreaterThanOrEqual(Math.max(policy.backoff.minMs, requestedMs));
        expect(decision.inMs).toBeLessThanOrEqual(Math.max(policy.backoff.maxMs, requestedMs));
        expect(decision.inMs).toBeGreaterThan(0);
      }),
    );
  });

  test('depends only on its arguments, and does not modify them (A7)', () => {
    fc.assert(
      fc.property(anyPolicy, anyEnding, restartTimes, anyRandom, (policy, ending, times, random) => {
        const before = [...times];
        const first = decideRestart(policy, ending, Object.freeze(times), 9000, random);
        expect(decideRestart(policy, ending, before, 9000, random)).toEqual(first);
      }),
    );
  });

  test('allows no more restarts in any period than the limit', () => {
    fc.assert(
      fc.property(
        anyPolicy,
        fc.array(fc.nat({ max: 800 }), { maxLength: 60 }),
        anyRandom,
        (policy, gaps, random) => {
          const restarts: number[] = [];
          let now = 0;
          for (const gap of gaps) {
            now += gap;
            const decision = decideRestart(policy, { kind: 'failed', error: 'x' }, restarts, now, random);
            if (decision.do === 'restart') restarts.push(now);
            // A restart is denied only after the permitted number of restarts in the period.
            const recentCount = restarts.filter((at) => at > now - policy.periodMs).length;
            if (decision.do === 'park' || decision.do === 'escalate')
              expect(recentCount).toBe(policy.intensity);
          }
          for (const from of restarts) {
            const countInPeriod = restarts.filter((at) => at >= from && at < from + policy.periodMs).length;
            expect(countInPeriod).toBeLessThanOrEqual(policy.intensity);
          }
        },
      ),
    );
  });

  test('has a pause above 0 and within the limit of a timer, for any restart settings in a catalog', () => {
    const settings = fc.record({
      intensity: fc.nat({ max: 1000 }),
      period_seconds: fc.integer({ min: 1, max: 1e9 }),
      min_backoff_ms: fc.integer({ min: 1, max: 1e12 }),
      max_backoff_seconds: fc.double({ min: 0, max: 1e12, noNaN: true }),
      park_seconds: fc.nat(),
    });
    fc.assert(
      fc.property(settings, fc.nat({ max: 2000 }), anyRandom, (restartSettings, count, random) => {
        const times = new Array<number>(count).fill(0);
        const decision = decideRestart(
          restartPolicy(restartSettings),
          { kind: 'failed', error: 'x' },
          times,
          0,
          random,
        );
        if (decision.do !== 'restart') return;
        expect(decision.inMs).toBeGreaterThan(0);
        // The maximum of setTimeout.
        expect(decision.inMs).toBeLessThan(2 ** 31);
      }),
    );
  });
});
