// Steps of the system clock while the embedded store runs or is stopped. A pause lasts until its time has
// really elapsed, and a step forward may shorten it. The removal of old deliveries continues. A circuit
// breaker does not depend on the system clock.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { monotonicNow } from '../../../actors/base/time/monotonic-clock.ts';
import { CircuitBreaker } from '../../../actors/mcp/servers/life/circuit-breaker.ts';
import { RECORD_EVERY_MS } from '../../../actors/store/sqlite/clock.ts';
import { SqliteEngine } from '../../../actors/store/sqlite/engine.ts';
import { storeFolder } from '../../fixtures/store/engine-store.ts';
import { eventOf, resultOf } from '../../fixtures/store/store-conformance.ts';

const folder = storeFolder();
let worldCount = 0;

/** A store, the real time, and a settable clock. */
class World {
  readonly #file = join(folder, `world-${++worldCount}.db`);
  /** Elapsed real time, in milliseconds. */
  uptimeMs = 0;
  /** The system clock, in epoch milliseconds. */
  #clock = Date.UTC(2026, 10, 22);
  engine = this.#open();

  #open(): SqliteEngine {
    return new SqliteEngine({
      file: this.#file,
      retentionMs: 3_600_000,
      snapshotRetentionMs: 3_600_000,
      maxWaiting: 100,
      maxParked: 100,
      now: () => this.#clock,
      uptime: () => this.uptimeMs,
    });
  }

  /** Advances both clocks, in the intervals in which the store records the time. */
  pass(ms: number): void {
    for (let remainingMs = ms; remainingMs > 0; remainingMs -= RECORD_EVERY_MS) {
      const step = Math.min(remainingMs, RECORD_EVERY_MS);
      this.uptimeMs += step;
      this.#clock += step;
      this.engine.followClock();
    }
  }

  /** Sets the system clock forward or back. */
  stepClock(byMs: number): void {
    this.#clock += byMs;
    this.engine.followClock();
  }

  /** Restarts the store, and sets the system clock while it is stopped. */
  restart(byMs: number): void {
    this.engine.close();
    this.#clock += byMs;
    this.engine = this.#open();
  }

  end(): void {
    this.engine.close();
    for (const suffix of ['', '-wal', '-shm']) rmSync(this.#file + suffix, { force: true });
  }
}

const TWO_HOURS_MS = 7_200_000;
const arbSteps = fc.array(
  fc.record({
    action: fc.constantFrom('pass', 'set', 'restart'),
    passMs: fc.integer({ min: 0, max: 40_000 }),
    byMs: fc.oneof(fc.constant(-TWO_HOURS_MS), fc.integer({ min: -TWO_HOURS_MS, max: 30_000 })),
  }),
  { maxLength: 12 },
);

test('steps of the system clock extend the pause of a retry or timer at most by the time that a restart did not record', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 300_000 }), arbSteps, (pauseMs, steps) => {
      const world = new World();
      const run = <T>(action: (engine: SqliteEngine) => T) =>
        world.engine.transaction(() => action(world.engine));
      try {
        // One event is retried after the pause. The other one starts a timer with the pause.
        run((engine) => engine.append([eventOf('retry', 'k/retry'), eventOf('first', 'k/first')]));
        for (const claim of run((engine) => engine.claim(2, 60_000))) {
          const timers = [{ id: 't', inMs: pauseMs, event: eventOf('timer', 'k/timer') }];
          const isRetry = claim.key === 'k/retry';
          const result = isRetry
            ? resultOf(claim, 'retrying', { retryInMs: pauseMs })
            : resultOf(claim, 'done', { timers });
          run((engine) => engine.commit([result]));
        }
        /** Time that each start may add to the pause. */
        let unrecordedMs = 0;
        for (const { action, passMs, byMs } of steps) {
          if (action === 'pass') world.pass(passMs);
          else if (action === 'set') world.stepClock(byMs);
          else {
            world.restart(byMs);
            unrecordedMs += RECORD_EVERY_MS;
          }
        }
        world.pass(Math.max(0, pauseMs + unrecordedMs - world.uptimeMs) + 1_000);
        const ids = run((engine) => engine.claim(10, 60_000)).map(({ event }) => event.id);
        expect(ids.sort()).toEqual(['retry', 'timer']);
      } finally {
        world.end();
      }
    }),
    { numRuns: 60 },
  );
});

test('a delivery with a time in the future does not prevent the removal of old deliveries after it', () => {
  const world = new World();
  const run = <T>(action: (engine: SqliteEngine) => T) =>
    world.engine.transaction(() => action(world.engine));
  const handle = (id: string) => {
    run((engine) => engine.append([eventOf(id, `k/${id}`)]));
    for (const claim of run((engine) => engine.claim(1, 60_000)))
      run((engine) => engine.commit([resultOf(claim)]));
  };
  const yearMs = 365 * 24 * 3_600_000;
  world.stepClock(yearMs);
  handle('ahead');
  world.stepClock(-yearMs);
  handle('after');
  // More than the retention of an hour.
  world.pass(3_700_000);
  expect(run((engine) => engine.sweepPart(0)).removed).toBe(1);
  expect(run((engine) => engine.delivery('after'))).toBeUndefined();
  world.end();
});

test('a failed server is retried after the real time has elapsed, regardless of the system clock', () => {
  const breaker = new CircuitBreaker('files', true);
  breaker.open(monotonicNow() + 60_000, 'it failed');
  const now = Date.now();
  const clock = vi.spyOn(Date, 'now').mockReturnValue(now - TWO_HOURS_MS);
  expect(breaker.refusal()?.message).toMatch(/in (59|60) s/);
  clock.mockReturnValue(now + TWO_HOURS_MS);
  expect(breaker.isOpen).toBe(true);
  clock.mockRestore();
});

test('the error of a failed server names the API request that starts it only if the server is in the catalog', () => {
  const refusalOf = (id: string) => {
    const breaker = new CircuitBreaker(id, true);
    breaker.open(monotonicNow() + 60_000, 'it failed');
    return breaker.refusal()?.message;
  };
  expect(refusalOf('files')).toContain('POST /servers/files/start');
  // A server in the file of the agent `clerk`. Operators cannot start it.
  expect(refusalOf('clerk/files')).toMatch(/^server clerk\/files is parked .* in \d+ s: it failed$/);
});
