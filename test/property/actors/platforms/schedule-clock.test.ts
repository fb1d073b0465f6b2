// A schedule whose clock is set at random while the gateway runs, while it is stopped, and before it is
// killed. The expectations do not depend on the implementation.

import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import type { OpenTrigger, TriggerHost } from '../../../../actors/platforms/adapter.ts';
import { scheduleAdapter } from '../../../../actors/platforms/schedule/adapter.ts';
import type { Store } from '../../../../actors/store/store.ts';
import { TestSourceHost } from '../../../fixtures/automation/source-host.ts';
import { scheduleTrigger } from '../../../fixtures/automation/triggers.ts';
import { runs } from '../../../fixtures/property-runs.ts';
import { openEngineStore, storeFolder } from '../../../fixtures/store/engine-store.ts';

/** Interval at which the schedule polls the clock. All steps take a multiple of it. */
const POLL_MS = 5_000;
/** Interval of the schedule. */
const EVERY_MS = 30_000;
/** Largest backward change that does not count as a correction. */
const SMALL_MS = 60_000;
const FIRST_LOAD = Date.UTC(2026, 10, 21, 12);

const folder = storeFolder();
let worlds = 0;

afterEach(() => {
  vi.useRealTimers();
});

/** A gateway with a schedule, and the clock. */
class World {
  readonly #file = join(folder, `schedule-${++worlds}.db`);
  #store: Store | undefined;
  #open: OpenTrigger | undefined;
  /** Counts how often the clock reached or passed each instant, going forward. */
  readonly passed = new Map<number, number>();
  /** Number of backward changes that are corrections. */
  corrections = 0;
  #newest = FIRST_LOAD;
  #unchangedMs = 0;

  async start(): Promise<void> {
    this.#store = openEngineStore({ file: this.#file, now: FIRST_LOAD }).store;
    const { log, accept, waitUntilSettled, discard, undeliver, listen, connections } = new TestSourceHost();
    const host: TriggerHost = {
      store: this.#store,
      log,
      accept,
      waitUntilSettled,
      discard,
      undeliver,
      listen,
      connections,
    };
    const adapter = scheduleAdapter({ now: () => Date.now(), watchMs: POLL_MS });
    const trigger = scheduleTrigger('pulse', { cron: '*/30 * * * * *', catchup: 'all' });
    this.#open = await adapter.open(trigger, host);
    this.#unchangedMs = 0;
    await vi.advanceTimersByTimeAsync(0);
    this.#countCorrection();
  }

  async kill(): Promise<void> {
    await this.#open?.close();
    await this.#store?.close();
  }

  /** Lets time pass. If the clock has not changed for a while, each instant is delivered on time. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= POLL_MS) {
      const before = await this.counts();
      const from = Date.now();
      await vi.advanceTimersByTimeAsync(POLL_MS);
      this.#countPassed(from);
      this.#countCorrection();
      this.#unchangedMs += POLL_MS;
      const now = Date.now();
      if (now % EVERY_MS !== 0 || this.#unchangedMs <= SMALL_MS + POLL_MS) continue;
      expect((await this.counts()).get(now)).toBe((before.get(now) ?? 0) + 1);
    }
  }

  setClock(byMs: number): void {
    const from = Date.now();
    vi.setSystemTime(from + byMs);
    this.#countPassed(from);
    this.#unchangedMs = 0;
  }

  /** Number of deliveries per instant. */
  async counts(): Promise<ReadonlyMap<number, number>> {
    const counts = new Map<number, number>();
    for (const { id } of (await this.#store?.deliveries({ limit: 1_000 })) ?? []) {
      const at = Date.parse(id.slice('schedule:pulse:'.length).slice(0, '2026-11-21T12:00:00.000Z'.length));
      counts.set(at, (counts.get(at) ?? 0) + 1);
    }
    return counts;
  }

  #countPassed(from: number): void {
    const first = Math.floor(from / EVERY_MS + 1) * EVERY_MS;
    for (let at = first; at <= Date.now(); at += EVERY_MS)
      this.passed.set(at, (this.passed.get(at) ?? 0) + 1);
  }

  #countCorrection(): void {
    const now = Date.now();
    if (this.#newest - now > SMALL_MS) {
      this.corrections += 1;
      this.#newest = now;
    }
    this.#newest = Math.max(this.#newest, now);
  }
}

const polls = (min: number, max: number) => fc.integer({ min, max }).map((count) => count * POLL_MS);
const arbBy = fc.oneof(polls(-12, 12), polls(-480, 240));
const arbStep = fc.oneof(
  fc.record({ what: fc.constant('pass' as const), ms: polls(1, 40) }),
  fc.record({ what: fc.constant('set' as const), ms: arbBy }),
  fc.record({ what: fc.constant('down' as const), ms: arbBy }),
);

async function run(steps: readonly { readonly what: 'pass' | 'set' | 'down'; readonly ms: number }[]) {
  vi.useFakeTimers({ now: FIRST_LOAD });
  const world = new World();
  await world.start();
  try {
    for (const { what, ms } of steps) {
      if (what === 'pass') await world.pass(ms);
      else if (what === 'set') world.setClock(ms);
      else {
        await world.kill();
        world.setClock(ms);
        await world.start();
      }
    }
    await world.pass(SMALL_MS + 2 * EVERY_MS);
    const counts = await world.counts();
    for (const [at, count] of counts) {
      expect(count).toBeLessThanOrEqual(world.passed.get(at) ?? 0);
      expect(count).toBeLessThanOrEqual(1 + world.corrections);
    }
    const missing = [...world.passed.keys()].filter(
      (at) => at > FIRST_LOAD && at <= Date.now() && !counts.has(at),
    );
    expect(missing).toEqual([]);
  } finally {
    await world.kill();
    vi.useRealTimers();
  }
}

test('each instant is delivered when the clock reaches it, and at most once more per clock correction', async () => {
  await fc.assert(fc.asyncProperty(fc.array(arbStep, { maxLength: 10 }), run), { numRuns: runs(40) });
});
