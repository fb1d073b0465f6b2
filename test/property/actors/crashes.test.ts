// Repeated crashes on the real engine, caused by an event or not. An event that crashes the process becomes
// dead after a limited number of crashes. Events that ran in parallel are handled.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Turn } from '../../../actors/store/store.ts';
import { CRASH_LIMIT, pauseAfterCrashMs } from '../../../machines/crashes.ts';
import { runs } from '../../fixtures/property-runs.ts';
import { type EngineStore, openEngineStore, storeFolder } from '../../fixtures/store/engine-store.ts';
import { eventOf, resultOf } from '../../fixtures/store/store-conformance.ts';

const LEASE_MS = 30_000_000;
const folder = storeFolder();
let scenarioCount = 0;

/** Kind of an event: the duration, or the time after which it crashes the process. */
interface Kind {
  readonly runMs: number;
  readonly killsAfterMs: number | undefined;
}

interface Running {
  readonly turn: Turn;
  readonly endsAt: number;
  readonly killsAt: number;
}

class CrashScenario {
  readonly #kinds: readonly Kind[];
  readonly #slots: number;
  /** Intervals between crashes with other causes. */
  readonly #others: number[];
  readonly #file = join(folder, `night-${++scenarioCount}.db`);
  #opened: EngineStore = openEngineStore({ file: this.#file });
  #running: Running[] = [];
  ends = 0;

  constructor(kinds: readonly Kind[], slots: number, others: readonly number[]) {
    this.#kinds = kinds;
    this.#slots = slots;
    this.#others = [...others];
  }

  /** Runs until all events are done or dead. Returns their states. */
  async pass(maxEnds: number): Promise<readonly string[]> {
    await this.#opened.store.append(this.#kinds.map((_, at) => eventOf(`e:${at}`, `k/${at}`)));
    let nextOther = this.#opened.now() + this.#nextOther();
    for (let step = 0; this.ends <= maxEnds && step < 100_000; step += 1) {
      await this.#claim();
      const { queued, running, retrying } = await this.#opened.store.counts();
      if (queued + running + retrying === 0) break;
      const now = this.#opened.now();
      const kill = Math.min(nextOther, ...this.#running.map(({ killsAt }) => killsAt));
      const end = Math.min(...this.#running.map(({ endsAt }) => endsAt), now + 1_000);
      this.#opened.advance(Math.max(0, Math.min(kill, end) - now));
      if (kill <= end) {
        if (kill === nextOther) nextOther = kill + this.#nextOther();
        await this.#restart();
      } else await this.#commitEnded();
    }
    const records = await this.#opened.store.deliveries({ limit: 1_000 });
    await this.#opened.store.close();
    for (const suffix of ['', '-wal', '-shm']) rmSync(this.#file + suffix, { force: true });
    return [...records].reverse().map(({ state }) => state);
  }

  #nextOther(): number {
    return this.#others.shift() ?? Number.POSITIVE_INFINITY;
  }

  async #claim(): Promise<void> {
    const now = this.#opened.now();
    for (const claim of await this.#opened.store.claim(this.#slots - this.#running.length, LEASE_MS)) {
      const kind = this.#kinds[Number(claim.event.id.slice(2))];
      if (claim.event.crashes >= CRASH_LIMIT) {
        await this.#opened.store.commit([resultOf(claim, 'dead', { note: 'it ends the process' })]);
        continue;
      }
      const { runMs = 0, killsAfterMs = Number.POSITIVE_INFINITY } = kind ?? {};
      this.#running.push({ turn: claim, endsAt: now + runMs, killsAt: now + killsAfterMs });
    }
  }

  async #commitEnded(): Promise<void> {
    const now = this.#opened.now();
    const ended = this.#running.filter(({ endsAt }) => endsAt <= now);
    this.#running = this.#running.filter(({ endsAt }) => endsAt > now);
    if (ended.length > 0) await this.#opened.store.commit(ended.map(({ turn: claim }) => resultOf(claim)));
  }

  /** Restarts the process. Claims are not released. */
  async #restart(): Promise<void> {
    this.ends += 1;
    this.#running = [];
    const now = this.#opened.now();
    await this.#opened.store.close();
    this.#opened = openEngineStore({ file: this.#file, now });
  }
}

const NEVER_ENDS = Number.POSITIVE_INFINITY;
const harmlessKind = fc
  .integer({ min: 0, max: 60_000 })
  .map((runMs): Kind => ({ runMs, killsAfterMs: undefined }));
const crashingKind = fc
  .integer({ min: 0, max: 10_000 })
  .map((killsAfterMs): Kind => ({ runMs: NEVER_ENDS, killsAfterMs }));

test('an event that crashes the process becomes dead after a limited number of crashes, and other events are handled', async () => {
  const mixed = fc.record({
    killers: fc.array(crashingKind, { minLength: 1, maxLength: 3 }),
    bystanders: fc.array(harmlessKind, { minLength: 20, maxLength: 60 }),
    places: fc.integer({ min: 4, max: 64 }),
  });
  await fc.assert(
    fc.asyncProperty(
      mixed,
      fc.infiniteStream(fc.nat()),
      async ({ killers, bystanders, places: slots }, order) => {
        const kinds = [...killers, ...bystanders]
          .map((kind) => ({ kind, rank: order.next().value }))
          .sort((first, other) => first.rank - other.rank)
          .map(({ kind }) => kind);
        const bound = killers.length * CRASH_LIMIT;
        const scenario = new CrashScenario(kinds, slots, []);
        const states = await scenario.pass(bound);
        expect(scenario.ends).toBeLessThanOrEqual(bound);
        expect(states).toEqual(
          kinds.map(({ killsAfterMs }) => (killsAfterMs === undefined ? 'done' : 'dead')),
        );
      },
    ),
    { numRuns: runs(12) },
  );
});

test('an event that crashes the process even before it is stored as dead becomes dead after a few starts', async () => {
  const file = join(folder, 'given-up.db');
  let opened = openEngineStore({ file });
  await opened.store.append([eventOf('e', 'k/e')]);
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
  expect(claims).toBe(CRASH_LIMIT + 3);
  const note = `the gateway ended ${claims} times while it was handled`;
  expect(await opened.store.delivery('e')).toMatchObject({ state: 'dead', crashes: claims, note });
  await opened.store.close();
});

test('many hanging events of one agent do not delay a schedule, even if the process crashes repeatedly', async () => {
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
  opened.advance(pauseAfterCrashMs(2) - pauseAfterCrashMs(1));
  expect(await claimedKeys()).toEqual([pulse]);
  await opened.store.close();
});

test('a hundred crashes that no event causes make no event dead', async () => {
  const kills = fc.array(fc.integer({ min: 100, max: 20_000 }), { minLength: 100, maxLength: 100 });
  const quick = fc
    .integer({ min: 0, max: 20_000 })
    .map((runMs): Kind => ({ runMs, killsAfterMs: undefined }));
  const bystanders = fc.array(quick, { minLength: 100, maxLength: 200 });
  await fc.assert(
    fc.asyncProperty(bystanders, kills, async (kinds, others) => {
      const scenario = new CrashScenario(kinds, 16, others);
      expect(await scenario.pass(others.length)).toEqual(kinds.map(() => 'done'));
    }),
    { numRuns: 3 },
  );
});

test('events that run longer than the process lives do not become dead', async () => {
  const kills = fc.array(fc.integer({ min: 100, max: 60_000 }), { minLength: 100, maxLength: 100 });
  const long = fc
    .integer({ min: 60_000, max: 600_000 })
    .map((runMs): Kind => ({ runMs, killsAfterMs: undefined }));
  const events = fc.array(fc.oneof(long, harmlessKind), { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(events, kills, async (kinds, others) => {
      const scenario = new CrashScenario(kinds, 16, others);
      expect(await scenario.pass(others.length)).toEqual(kinds.map(() => 'done'));
    }),
    { numRuns: 3 },
  );
});
