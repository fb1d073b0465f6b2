// Whatever somebody does to the clock, while the store runs or while it does not: what waits for a pause comes when that has
// really passed, and a schedule or a sweep goes on. Set forward it may come sooner.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { steadyNow } from '../../../actors/base/time/steady-clock.ts';
import { CircuitBreaker } from '../../../actors/mcp/servers/life/circuit-breaker.ts';
import { NOTED_EVERY_MS } from '../../../actors/store/sqlite/clock.ts';
import { SqliteEngine } from '../../../actors/store/sqlite/engine.ts';
import { storeFolder } from '../../fixtures/store/engine-store.ts';
import { eventOf, resultOf } from '../../fixtures/store/store-conformance.ts';

const folder = storeFolder();
let worlds = 0;

/** A store, the real time, and a clock that says what it is set to. */
class World {
  readonly #file = join(folder, `world-${++worlds}.db`);
  /** What has really passed. */
  real = 0;
  #clock = Date.UTC(2026, 10, 22);
  engine = this.#open();

  #open(): SqliteEngine {
    return new SqliteEngine({
      file: this.#file,
      retentionMs: 3_600_000,
      rememberMs: 3_600_000,
      maxWaiting: 100,
      now: () => this.#clock,
      uptime: () => this.real,
    });
  }

  /** As the worker's timer sees it pass. */
  pass(ms: number): void {
    for (let left = ms; left > 0; left -= NOTED_EVERY_MS) {
      const step = Math.min(left, NOTED_EVERY_MS);
      this.real += step;
      this.#clock += step;
      this.engine.keepTime();
    }
  }

  set(byMs: number): void {
    this.#clock += byMs;
    this.engine.keepTime();
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

test('no pause of a retry or a timer is longer than it was to be, but by what was not noted at a start (SK1, MT3)', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 300_000 }), arbSteps, (pauseMs, steps) => {
      const world = new World();
      const run = <T>(action: (engine: SqliteEngine) => T) =>
        world.engine.transaction(() => action(world.engine));
      try {
        run((engine) => engine.append([eventOf('retry', 'k/retry'), eventOf('first', 'k/first')]));
        for (const turn of run((engine) => engine.claim(2, 60_000))) {
          const timers = [{ id: 't', inMs: pauseMs, event: eventOf('timer', 'k/timer') }];
          const isRetry = turn.key === 'k/retry';
          run((engine) =>
            engine.commit([
              resultOf(turn, isRetry ? 'retrying' : 'done', isRetry ? { retryInMs: pauseMs } : { timers }),
            ]),
          );
        }
        let unnoted = 0;
        for (const { what, passMs, byMs } of steps) {
          if (what === 'pass') world.pass(passMs);
          else if (what === 'set') world.set(byMs);
          else {
            world.restart(byMs);
            unnoted += NOTED_EVERY_MS;
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

test('a record of a time when the clock was ahead keeps nothing after it from being removed', () => {
  const world = new World();
  const run = <T>(action: (engine: SqliteEngine) => T) =>
    world.engine.transaction(() => action(world.engine));
  const handle = (id: string) => {
    run((engine) => engine.append([eventOf(id, `k/${id}`)]));
    for (const turn of run((engine) => engine.claim(1, 60_000)))
      run((engine) => engine.commit([resultOf(turn)]));
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

test('a parked server is tried again when its time has passed, whatever the clock says', () => {
  const parking = new CircuitBreaker('files', true);
  parking.open(steadyNow() + 60_000, 'it failed');
  const now = Date.now();
  const clock = vi.spyOn(Date, 'now').mockReturnValue(now - HOURS_MS);
  expect(parking.refusal()?.message).toMatch(/in (59|60) s/);
  clock.mockReturnValue(now + HOURS_MS);
  expect(parking.isOpen).toBe(true);
  clock.mockRestore();
});

test('only a server of the catalog, which an address reaches, is said to be started by an operator', () => {
  const refusalOf = (id: string) => {
    const parking = new CircuitBreaker(id, true);
    parking.open(steadyNow() + 60_000, 'it failed');
    return parking.refusal()?.message;
  };
  expect(refusalOf('files')).toContain('POST /servers/files/start');
  expect(refusalOf('clerk/files')).toMatch(/^server clerk\/files is parked .* in \d+ s: it failed$/);
});
