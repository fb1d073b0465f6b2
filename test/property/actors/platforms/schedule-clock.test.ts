// A schedule under a clock that is set at will, while the gateway runs, while it does not, and right before it is killed. What
// is asked of it is said here without looking at how it does that.

import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import type { OpenTrigger, SourceHost } from '../../../../actors/platforms/adapter.ts';
import { scheduleAdapter } from '../../../../actors/platforms/schedule/adapter.ts';
import type { Store } from '../../../../actors/store/store.ts';
import { TestSourceHost } from '../../../fixtures/automation/source-host.ts';
import { scheduleTrigger } from '../../../fixtures/automation/triggers.ts';
import { runs } from '../../../fixtures/property-runs.ts';
import { openEngineStore, storeFolder } from '../../../fixtures/store/engine-store.ts';

/** How often the schedule looks at the clock; all that happens takes a multiple of it. */
const LOOK_MS = 5_000;
/** An instant comes so often. */
const EVERY_MS = 30_000;
/** A clock that is set back by no more than this was right before. */
const SMALL_MS = 60_000;
const FIRST_LOAD = Date.UTC(2026, 10, 21, 12);

const folder = storeFolder();
let worlds = 0;

afterEach(() => {
  vi.useRealTimers();
});

/** A gateway with one schedule, and its clock. */
class World {
  readonly #file = join(folder, `schedule-${++worlds}.db`);
  #store: Store | undefined;
  #open: OpenTrigger | undefined;
  /** How often the clock has come to an instant, or jumped over it, from before. */
  readonly passed = new Map<number, number>();
  /** How often the clock was set back so far that it must have been wrong. */
  corrections = 0;
  #newest = FIRST_LOAD;
  #calmMs = 0;

  async start(): Promise<void> {
    this.#store = openEngineStore({ file: this.#file, now: FIRST_LOAD }).store;
    const { log, accept, settled, discard, undeliver, listen, connections } = new TestSourceHost();
    const host: SourceHost = {
      store: this.#store,
      log,
      accept,
      settled,
      discard,
      undeliver,
      listen,
      connections,
    };
    const adapter = scheduleAdapter({ now: () => Date.now(), watchMs: LOOK_MS });
    const trigger = scheduleTrigger('pulse', { cron: '*/30 * * * * *', catchup: 'all' });
    this.#open = await adapter.open(trigger, host);
    this.#calmMs = 0;
    await vi.advanceTimersByTimeAsync(0);
    this.#notice();
  }

  async kill(): Promise<void> {
    await this.#open?.close();
    await this.#store?.close();
  }

  /** Time goes by. Where nobody has touched the clock for long enough each instant is there when it has come. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= LOOK_MS) {
      const before = await this.counts();
      const from = Date.now();
      await vi.advanceTimersByTimeAsync(LOOK_MS);
      this.#moved(from);
      this.#notice();
      this.#calmMs += LOOK_MS;
      const now = Date.now();
      if (now % EVERY_MS !== 0 || this.#calmMs <= SMALL_MS + LOOK_MS) continue;
      expect((await this.counts()).get(now)).toBe((before.get(now) ?? 0) + 1);
    }
  }

  set(byMs: number): void {
    const from = Date.now();
    vi.setSystemTime(from + byMs);
    this.#moved(from);
    this.#calmMs = 0;
  }

  /** How often each instant has come. */
  async counts(): Promise<ReadonlyMap<number, number>> {
    const counts = new Map<number, number>();
    for (const { id } of (await this.#store?.deliveries({ limit: 1_000 })) ?? []) {
      const at = Date.parse(id.slice('schedule:pulse:'.length).slice(0, '2026-11-21T12:00:00.000Z'.length));
      counts.set(at, (counts.get(at) ?? 0) + 1);
    }
    return counts;
  }

  #moved(from: number): void {
    const first = Math.floor(from / EVERY_MS + 1) * EVERY_MS;
    for (let at = first; at <= Date.now(); at += EVERY_MS)
      this.passed.set(at, (this.passed.get(at) ?? 0) + 1);
  }

  #notice(): void {
    const now = Date.now();
    if (this.#newest - now > SMALL_MS) {
      this.corrections += 1;
      this.#newest = now;
    }
    this.#newest = Math.max(this.#newest, now);
  }
}

const looks = (min: number, max: number) => fc.integer({ min, max }).map((count) => count * LOOK_MS);
const arbBy = fc.oneof(looks(-12, 12), looks(-480, 240));
const arbStep = fc.oneof(
  fc.record({ what: fc.constant('pass' as const), ms: looks(1, 40) }),
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
      else if (what === 'set') world.set(ms);
      else {
        await world.kill();
        world.set(ms);
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

test('each instant comes when the clock comes to it, and once for each time that this was corrected at most', async () => {
  await fc.assert(fc.asyncProperty(fc.array(arbStep, { maxLength: 10 }), run), { numRuns: runs(40) });
});
