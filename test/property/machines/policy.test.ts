import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Ending, type RestartPolicy, restartPolicy, verdict } from '../../../machines/policy.ts';

const policies: fc.Arbitrary<RestartPolicy> = fc.record({
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
const endings: fc.Arbitrary<Ending> = fc.oneof(
  fc.constant({ kind: 'done' } as const),
  fc.anything().map((error) => ({ kind: 'failed', error }) as const),
);
const chances = fc.double({ min: 0, max: 1, noNaN: true });

describe('every verdict', () => {
  test('pauses within the bounds of its policy, and never for 0 (PO2)', () => {
    fc.assert(
      fc.property(
        policies,
        endings,
        fc.array(fc.nat({ max: 9000 })),
        chances,
        (policy, ending, times, chance) => {
          const given = verdict(policy, ending, times, 9000, chance);
          if (given.do !== 'restart') return;
          expect(given.inMs).toBeGreaterThanOrEqual(policy.backoff.minMs);
          expect(given.inMs).toBeLessThanOrEqual(policy.backoff.maxMs);
          expect(given.inMs).toBeGreaterThan(0);
        },
      ),
    );
  });

  test('depends on nothing but its arguments, and changes none of them (A7)', () => {
    fc.assert(
      fc.property(
        policies,
        endings,
        fc.array(fc.nat({ max: 9000 })),
        chances,
        (policy, ending, times, chance) => {
          const before = [...times];
          const first = verdict(policy, ending, Object.freeze(times), 9000, chance);
          expect(verdict(policy, ending, before, 9000, chance)).toEqual(first);
        },
      ),
    );
  });

  test('keeps the restarts of any period at or below the intensity, whatever fails when (PO1)', () => {
    fc.assert(
      fc.property(
        policies,
        fc.array(fc.nat({ max: 800 }), { maxLength: 60 }),
        chances,
        (policy, gaps, chance) => {
          const restarts: number[] = [];
          let now = 0;
          for (const gap of gaps) {
            now += gap;
            const given = verdict(policy, { kind: 'failed', error: 'x' }, restarts, now, chance);
            if (given.do === 'restart') restarts.push(now);
            // The other way round: at the limit it must be full.
            const within = restarts.filter((at) => at > now - policy.periodMs).length;
            if (given.do === 'park' || given.do === 'escalate') expect(within).toBe(policy.intensity);
          }
          for (const from of restarts) {
            const within = restarts.filter((at) => at >= from && at < from + policy.periodMs).length;
            expect(within).toBeLessThanOrEqual(policy.intensity);
          }
        },
      ),
    );
  });

  test('is sound for any restart block that an operator may write', () => {
    const settings = fc.record({
      intensity: fc.nat({ max: 1000 }),
      period_seconds: fc.integer({ min: 1, max: 1e9 }),
      min_backoff_ms: fc.integer({ min: 1, max: 1e12 }),
      max_backoff_seconds: fc.double({ min: 0, max: 1e12, noNaN: true }),
      park_seconds: fc.nat(),
    });
    fc.assert(
      fc.property(settings, fc.nat({ max: 2000 }), chances, (written, count, chance) => {
        const times = new Array<number>(count).fill(0);
        const given = verdict(restartPolicy(written), { kind: 'failed', error: 'x' }, times, 0, chance);
        if (given.do !== 'restart') return;
        expect(given.inMs).toBeGreaterThan(0);
        expect(given.inMs).toBeLessThan(2 ** 31);
      }),
    );
  });
});
