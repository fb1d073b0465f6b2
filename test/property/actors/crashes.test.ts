// Repeated process crashes, caused by an event or by the environment, on the real store engine with a
// simulated clock.
// An event that crashes the process becomes dead after a limited number of crashes. All other events are
// handled.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Turn } from '../../../actors/store/store.ts';
import { CRASH_LIMIT, pauseAfterCrashMs } from '../../../machines/crashes.ts';
import { runs } from '../../fixtures/property-runs.ts';
import { type EngineStore, openEngineStore, storeFolder } from '../../fixtures/store/engine-store.ts';
import { eventOf, resultOf } from '../../fixtures/store/store-conformance.ts';

/**
 * Validity of a claim (the permission to handle one event). It is longer than any scenario, so that a claim
 * ends only when the next process opens the store.
 */
const LEASE_MS = 30_000_000;
const folder = storeFolder();
let scenarioCount = 0;

/** Event behaviour: run duration, or the time after which it crashes the process. */
interface Behaviour {
  readonly runMs: number;
  readonly crashesAfterMs: number | undefined;
}

/** A claimed event that is being handled (in the store: a turn). */
interface RunningTurn {
  readonly turn: Turn;
  readonly endsAt: number;
  readonly crashesAt: number;
}

/** Handles one event for each behaviour, and restarts after crashes. */
class CrashScenario {
  readonly #behaviours: readonly Behaviour[];
  readonly #slots: number;
  /** Intervals in milliseconds between crashes that no event causes. */
  readonly #externalCrashMs: number[];
  readonly #file = join(folder, `scenario-${++scenarioCount}.db`);
  #opened: EngineStore = openEngineStore({ file: this.#file });
  #running: RunningTurn[] = [];
  crashes = 0;

  constructor(behaviours: readonly Behaviour[], slots: number, externalCrashMs: readonly number[]) {
    this.#behaviours = behaviours;
    this.#slots = slots;
    this.#externalCrashMs = [...externalCrashMs];
  }

  /** Runs until all events are done or dead, or after too many crashes. Returns the states of the events. */
  async run(maxCrashes: number): Promise<readonly string[]> {
    await this.#opened.store.append(this.#behaviours.map((_, at) => eventOf(`e:${at}`, `k/${at}`)));
    let externalCrashAt = this.#opened.now() + this.#nextExternalCrashMs();
    for (let step = 0; this.crashes <= maxCrashes && step < 100_000; step += 1) {
      await this.#claim();
      const { queued, running, retrying } = await this.#opened.store.counts();
      if (queued + running + retrying === 0) break;
      const now = this.#opened.now();
      const crashAt = Math.min(externalCrashAt, ...this.#running.map(({ crashesAt }) => crashesAt));
      // At most a second later, to claim events whose pause has ended.
      const continueAt = Math.min(...this.#running.map(({ endsAt }) => endsAt), now + 1_000);
      this.#opened.advance(Math.max(0, Math.min(crashAt, continueAt) - now));
      if (crashAt <= continueAt) {
        if (crashAt === externalCrashAt) externalCrashAt = crashAt + this.#nextExternalCrashMs();
        await this.#restart();
      } else await this.#commitEnded();
    }
    const records = await this.#opened.store.deliveries({ limit: 1_000 });
    await this.#opened.store.close();
    for (const suffix of ['', '-wal', '-shm']) rmSync(this.#file + suffix, { force: true });
    // The store returns the newest delivery first.
    return [...records].reverse().map(({ state }) => state);
  }

  #nextExternalCrashMs(): number {
    return this.#externalCrashMs.shift() ?? Number.POSITIVE_INFINITY;
  }

  async #claim(): Promise<void> {
    const now = this.#opened.now();
    for (const turn of await this.#opened.store.claim(this.#slots - this.#running.length, LEASE_MS)) {
      // The id is `e:INDEX`.
      const behaviour = this.#behaviours[Number(turn.event.id.slice(2))];
      if (turn.event.crashes >= CRASH_LIMIT) {
        await this.#opened.store.commit([resultOf(turn, 'dead', { note: 'it ends the process' })]);
        continue;
      }
      const { runMs = 0, crashesAfterMs = Number.POSITIVE_INFINITY } = behaviour ?? {};
      this.#running.push({ turn, endsAt: now + runMs, crashesAt: now + crashesAfterMs });
    }
  }

  async #commitEnded(): Promise<void> {
    const now = this.#opened.now();
    const ended = this.#running.filter(({ endsAt }) => endsAt <= now);
    this.#running = this.#running.filter(({ endsAt }) => endsAt > now);
    if (ended.length > 0) await this.#opened.store.commit(ended.map(({ turn }) => resultOf(turn)));
  }

  /** Simulates a crash and a restart. The crash leaves the claims in the store. */
  async #restart(): Promise<void> {
    this.crashes += 1;
    this.#running = [];
    const now = this.#opened.now();
    await this.#opened.store.close();
    this.#opened = openEngineStore({ file: this.#file, now });
  }
}

const NEVER_ENDS = Number.POSITIVE_INFINITY;
const harmless = fc
  .integer({ min: 0, max: 60_000 })
  .map((runMs): Behaviour => ({ runMs, crashesAfterMs: undefined }));
const crashing = fc
  .integer({ min: 0, max: 10_000 })
  .map((crashesAfterMs): Behaviour => ({ runMs: NEVER_ENDS, crashesAfterMs }));

test('an event that crashes the process becomes dead after a limited number of crashes, and other events are handled', async () => {
  const mixed = fc.record({
    killers: fc.array(crashing, { minLength: 1, maxLength: 3 }),
    bystanders: fc.array(harmless, { minLength: 20, maxLength: 60 }),
    slots: fc.integer({ min: 4, max: 64 }),
  });
  await fc.assert(
    fc.asyncProperty(mixed, fc.infiniteStream(fc.nat()), async ({ killers, bystanders, slots }, order) => {
      // Shuffled by random ranks.
      const behaviours = [...killers, ...bystanders]
        .map((behaviour) => ({ behaviour, rank: order.next().value }))
        .sort((first, other) => first.rank - other.rank)
        .map(({ behaviour }) => behaviour);
      const maxCrashes = killers.length * CRASH_LIMIT;
      const scenario = new CrashScenario(behaviours, slots, []);
      const states = await scenario.run(maxCrashes);
      expect(scenario.crashes).toBeLessThanOrEqual(maxCrashes);
      expect(states).toEqual(
        behaviours.map(({ crashesAfterMs }) => (crashesAfterMs === undefined ? 'done' : 'dead')),
      );
    }),
    { numRuns: runs(12) },
  );
});

test('an event that crashes the process even before it is stored as dead becomes dead after a few starts', async () => {
  const file = join(folder, 'given-up.db');
  let opened = openEngineStore({ file });
  await opened.store.append([eventOf('e', 'k/e')]);
  // Each claim crashes the process, also the claims that should only store the event as dead.
  let claims = 0;
  for (;;) {
    const [turn] = await opened.store.claim(1, LEASE_MS);
    if (turn === undefined) break;
    expect(turn.event.crashes).toBe(claims);
    claims += 1;
    const now = opened.now();
    await opened.store.close();
    opened = openEngineStore({ file, now });
    opened.advance(pauseAfterCrashMs(claims));
  }
  // After CRASH_LIMIT crashes, the gateway stores the event as dead and notifies its sender. Three of these
  // attempts may crash too.
  expect(claims).toBe(CRASH_LIMIT + 3);
  const note = `the gateway ended ${claims} times while it was handled`;
  expect(await opened.store.delivery('e')).toMatchObject({ state: 'dead', crashes: claims, note });
  await opened.store.close();
});

test('many hanging events of an HTTP trigger do not delay an event of a schedule, even if the process crashes repeatedly', async () => {
  const file = join(folder, 'held-up.db');
  let opened = openEngineStore({ file });
  const claimedKeys = async () => (await opened.store.claim(256, LEASE_MS)).map(({ key }) => key);
  const restart = async () => {
    const now = opened.now();
    await opened.store.close();
    opened = openEngineStore({ file, now });
  };
  const pulse = 'conversation/schedule/pulse';
  await opened.store.append([eventOf('pulse', pulse)]);
  expect(await claimedKeys()).toEqual([pulse]);
  await restart();
  opened.advance(pauseAfterCrashMs(1));
  const hanging = Array.from({ length: 200 }, (_, at) => `conversation/http/stuck/${at}`);
  await opened.store.append(hanging.map((key, at) => eventOf(`stuck:${at}`, key)));
  expect(new Set(await claimedKeys())).toEqual(new Set([pulse, ...hanging]));
  await restart();
  opened.advance(pauseAfterCrashMs(1));
  expect(new Set(await claimedKeys())).toEqual(new Set(hanging));
  // The schedule has two crashes, so it pauses longer. It runs although 200 events hang.
  opened.advance(pauseAfterCrashMs(2) - pauseAfterCrashMs(1));
  expect(await claimedKeys()).toEqual([pulse]);
  await opened.store.close();
});

test('a hundred crashes that no event causes make no event dead', async () => {
  const externalCrashes = fc.array(fc.integer({ min: 100, max: 20_000 }), { minLength: 100, maxLength: 100 });
  const quick = fc
    .integer({ min: 0, max: 20_000 })
    .map((runMs): Behaviour => ({ runMs, crashesAfterMs: undefined }));
  const bystanders = fc.array(quick, { minLength: 100, maxLength: 200 });
  await fc.assert(
    fc.asyncProperty(bystanders, externalCrashes, async (behaviours, crashMs) => {
      const scenario = new CrashScenario(behaviours, 16, crashMs);
      expect(await scenario.run(crashMs.length)).toEqual(behaviours.map(() => 'done'));
    }),
    { numRuns: 3 },
  );
});

test('long-running events do not become dead if unrelated crashes of the process interrupt them repeatedly', async () => {
  const externalCrashes = fc.array(fc.integer({ min: 100, max: 60_000 }), { minLength: 100, maxLength: 100 });
  const long = fc
    .integer({ min: 60_000, max: 600_000 })
    .map((runMs): Behaviour => ({ runMs, crashesAfterMs: undefined }));
  const events = fc.array(fc.oneof(long, harmless), { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(events, externalCrashes, async (behaviours, crashMs) => {
      const scenario = new CrashScenario(behaviours, 16, crashMs);
      expect(await scenario.run(crashMs.length)).toEqual(behaviours.map(() => 'done'));
    }),
    { numRuns: 3 },
  );
});
