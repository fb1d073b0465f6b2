// Clock steps while the store runs or is stopped: a pause lasts until the time has really elapsed, and
// schedules and sweeps continue. A step forward may shorten a pause.

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
let worlds = 0;

/** A store, the real time, and a settable clock. */
class World {
  readonly #file = join(folder, `world-${++worlds}.db`);
  /** Elapsed real time. */
  real = 0;
  #clock = Date.UTC(2026, 10, 22);
  engine = this.#open();

  #open(): SqliteEngine {
    return new SqliteEngine({
      file: this.#file,
      retentionMs: 3_600_000,
      snapshotRetentionMs: 3_600_000,
      maxWaiting: 100,
      now: () => this.#clock,
      uptime: () => this.real,
    });
  }

  /** Advances the time in the intervals of the worker's timer. */
  pass(ms: number): void {
    for (let remainingMs = ms; remainingMs > 0; remainingMs -= RECORD_EVERY_MS) {
      const step = Math.min(remainingMs, RECORD_EVERY_MS);
      this.real += step;
      this.#clock += step;
      this.engine.followClock();
    }
  }

  set(byMs: number): void {
    this.#clock += byMs;
    this.engine.followClock();
  }

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

const HOURS_MS = 7_200_000;
const arbSteps = fc.array(
  fc.record({
    what: fc.constantFrom('pass', 'set', 'restart'),
    passMs: fc.integer({ min: 0, max: 40_000 }),
    byMs: fc.oneof(fc.constant(-HOURS_MS), fc.integer({ min: -HOURS_MS, max: 30_000 })),
  }),
  { maxLength: 12 },
);

test('no clock step extends the pause of a retry or timer, except by the unrecorded time before a start', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 300_000 }), arbSteps, (pauseMs, steps) => {
      const world = new World();
      const run = <T>(action: (engine: SqliteEngine) => T) =>
        world.engine.transaction(() => action(world.engine));
      try {
        run((engine) => engine.append([eventOf('retry', 'k/retry'), eventOf('first', 'k/first')]));
        for (const claim of run((engine) => engine.claim(2, 60_000))) {
          const timers = [{ id: 't', inMs: pauseMs, event: eventOf('timer', 'k/timer') }];
          const isRetry = claim.key === 'k/retry';
          run((engine) =>
            engine.commit([
              resultOf(claim, isRetry ? 'retrying' : 'done', isRetry ? { retryInMs: pauseMs } : { timers }),
            ]),
          );
        }
        let unnoted = 0;
        for (const { what: action, passMs, byMs } of steps) {
          if (action === 'pass') world.pass(passMs);
          else if (action === 'set') world.set(byMs);
          else {
            world.restart(byMs);
            unnoted += RECORD_EVERY_MS;
          }
        }
        world.pass(Math.max(0, pauseMs + unnoted - world.real) + 1_000);
        const ids = run((engine) => engine.claim(10, 60_000)).map(({ event }) => event.id);
        expect(ids.sort()).toEqual(['retry', 'timer']);
      } finally {
        world.end();
      }
    }),
    { numRuns: 60 },
  );
});

test('a delivery with a time in the future does not prevent the removal of later deliveries', () => {
  const world = new World();
  const run = <T>(action: (engine: SqliteEngine) => T) =>
    world.engine.transaction(() => action(world.engine));
  const handle = (id: string) => {
    run((engine) => engine.append([eventOf(id, `k/${id}`)]));
    for (const claim of run((engine) => engine.claim(1, 60_000)))
      run((engine) => engine.commit([resultOf(claim)]));
  };
  const year = 365 * 24 * 3_600_000;
  world.set(year);
  handle('ahead');
  world.set(-year);
  handle('after');
  world.pass(3_700_000);
  expect(run((engine) => engine.sweepPart(0)).removed).toBe(1);
  expect(run((engine) => engine.delivery('after'))).toBeUndefined();
  world.end();
});

test('a failed server is retried after the real time has elapsed, regardless of the clock', () => {
  const parking = new CircuitBreaker('files', true);
  parking.open(monotonicNow() + 60_000, 'it failed');
  const now = Date.now();
  const clock = vi.spyOn(Date, 'now').mockReturnValue(now - HOURS_MS);
  expect(parking.refusal()?.message).toMatch(/in (59|60) s/);
  clock.mockReturnValue(now + HOURS_MS);
  expect(parking.isOpen).toBe(true);
  clock.mockRestore();
});

test("only a refusal for a catalog server mentions the operator's start request", () => {
  const refusalOf = (id: string) => {
    const parking = new CircuitBreaker(id, true);
    parking.open(monotonicNow() + 60_000, 'it failed');
    return parking.refusal()?.message;
  };
  expect(refusalOf('files')).toContain('POST /servers/files/start');
  expect(refusalOf('clerk/files')).toMatch(/^server clerk\/files is parked .* in \d+ s: it failed$/);
});
