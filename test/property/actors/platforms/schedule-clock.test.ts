// A schedule whose clock is set at random, with the gateway running or stopped. A model counts how often the
// clock reaches each instant, and how often it is corrected. Each instant is delivered when the clock first
// reaches it. A correction permits one more delivery.

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

/** Interval at which the schedule polls the clock. All steps take a multiple of the interval. */
const POLL_MS = 5_000;
/** Interval of the schedule. */
const EVERY_MS = 30_000;
/** Largest backward change that does not count as a correction. */
const SMALL_MS = 60_000;
/** Start of the first process: 2026-11-21, 12:00. */
const FIRST_START = Date.UTC(2026, 10, 21, 12);

const folder = storeFolder();
let scenarioCount = 0;

afterEach(() => {
  vi.useRealTimers();
});

/** A gateway with a schedule, the clock, and the model. */
class ScheduleScenario {
  readonly #file = join(folder, `schedule-${++scenarioCount}.db`);
  #store: Store | undefined;
  #open: OpenTrigger | undefined;
  /** Counts how often the clock reached or passed each instant, going forward. */
  readonly passed = new Map<number, number>();
  /** Number of backward changes that are corrections. */
  corrections = 0;
  /** Latest time of the clock since the last correction. */
  #newest = FIRST_START;
  /** Time since the clock was set. */
  #unchangedMs = 0;

  async start(): Promise<void> {
    this.#store = openEngineStore({ file: this.#file, now: FIRST_START }).store;
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

  async stop(): Promise<void> {
    await this.#open?.close();
    await this.#store?.close();
  }

  /** Lets time pass. Unless `setClock` was called recently, each instant is delivered on time. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= POLL_MS) {
      const before = await this.counts();
      const from = Date.now();
      await vi.advanceTimersByTimeAsync(POLL_MS);
      this.#countPassed(from);
      this.#countCorrection();
      this.#unchangedMs += POLL_MS;
      const now = Date.now();
      const isInstant = now % EVERY_MS === 0;
      if (isInstant && this.#unchangedMs > SMALL_MS + POLL_MS)
        expect((await this.counts()).get(now)).toBe((before.get(now) ?? 0) + 1);
    }
  }

  setClock(byMs: number): void {
    const from = Date.now();
    vi.setSystemTime(from + byMs);
    this.#countPassed(from);
    this.#unchangedMs = 0;
  }

  /** Returns the number of deliveries per instant. */
  async counts(): Promise<ReadonlyMap<number, number>> {
    const counts = new Map<number, number>();
    for (const { id } of (await this.#store?.deliveries({ limit: 1_000 })) ?? []) {
      // The id contains the instant, such as `schedule:pulse:2026-11-21T12:00:00.000Z`.
      const at = Date.parse(id.slice('schedule:pulse:'.length).slice(0, '2026-11-21T12:00:00.000Z'.length));
      counts.set(at, (counts.get(at) ?? 0) + 1);
    }
    return counts;
  }

  /** Counts the instants after `from` up to now. */
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
/** A change of up to a minute, which is no correction, or of up to 40 minutes back and 20 minutes forward. */
const anyChange = fc.oneof(polls(-12, 12), polls(-480, 240));
/** Time passes; the clock is set; the clock is set while the gateway is stopped. */
const anyStep = fc.oneof(
  fc.record({ command: fc.constant('pass' as const), ms: polls(1, 40) }),
  fc.record({ command: fc.constant('set' as const), ms: anyChange }),
  fc.record({ command: fc.constant('setWhileStopped' as const), ms: anyChange }),
);
type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never;

async function run(steps: readonly Step[]) {
  vi.useFakeTimers({ now: FIRST_START });
  const scenario = new ScheduleScenario();
  await scenario.start();
  try {
    for (const { command, ms } of steps) {
      if (command === 'pass') await scenario.pass(ms);
      else if (command === 'set') scenario.setClock(ms);
      else {
        await scenario.stop();
        scenario.setClock(ms);
        await scenario.start();
      }
    }
    await scenario.pass(SMALL_MS + 2 * EVERY_MS);
    const counts = await scenario.counts();
    for (const [at, count] of counts) {
      expect(count).toBeLessThanOrEqual(scenario.passed.get(at) ?? 0);
      expect(count).toBeLessThanOrEqual(1 + scenario.corrections);
    }
    const missing = [...scenario.passed.keys()].filter(
      (at) => at > FIRST_START && at <= Date.now() && !counts.has(at),
    );
    expect(missing).toEqual([]);
  } finally {
    await scenario.stop();
    vi.useRealTimers();
  }
}

test('a scheduled time is delivered when the clock reaches it, and at most once more per clock correction', async () => {
  await fc.assert(fc.asyncProperty(fc.array(anyStep, { maxLength: 10 }), run), { numRuns: runs(40) });
});
