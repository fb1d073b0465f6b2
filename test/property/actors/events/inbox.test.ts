// The dispatcher, which claims stored events and runs their handlers; these hang, fail, throw or respond
// late. Random faults: commits fail, claims (permissions to handle a key) expire, triggers hold their events,
// the dispatcher drains (stops after its runs) and starts again. Each event becomes final exactly once and in
// order, and runs of one key (conversation) never overlap. The invariants A4, A6 and A8 are in
// ARCHITECTURE.md.

import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UnavailableError } from '../../../../actors/base/errors/errors.ts';
import type { Dispatcher } from '../../../../actors/events/inbox/dispatcher.ts';
import type { Assignment, WorkOutcome } from '../../../../actors/events/inbox/work.ts';
import type { NewEvent } from '../../../../actors/store/event.ts';
import type { AppendOptions, Committed, Store, TurnResult } from '../../../../actors/store/store.ts';
import { openSqliteStore } from '../../../../actors/store/worker/sqlite-store.ts';
import { done, FakeWork, failed, newEvent, startInbox, until } from '../../../fixtures/automation/inbox.ts';
import { runs } from '../../../fixtures/property-runs.ts';
import { storeFolder } from '../../../fixtures/store/engine-store.ts';
import { MemoryStore } from '../../../fixtures/store/memory-store.ts';
import { storeWorkerUrl } from '../../../fixtures/store/store-worker.ts';

/** Final outcomes. After any other outcome an event remains in the store. */
const finalOutcomes: ReadonlySet<TurnResult['outcome']> = new Set(['done', 'ignored', 'dead']);

/** Records when each event becomes final, and the largest number of concurrent claims. */
class RecordingStore extends MemoryStore {
  /** Ids in the order in which the events became final, by key. */
  readonly finalIds = new Map<string, string[]>();
  /** Committed outcomes that are not final. */
  readonly otherOutcomes = new Set<TurnResult['outcome']>();
  mostClaims = 0;
  isFailing = false;
  readonly recover = () => {
    this.isFailing = false;
  };
  #claims = new Set<string>();

  override async append(events: readonly NewEvent[], options?: AppendOptions) {
    const appended = await super.append(events, options);
    for (const { turn } of appended) if (turn !== undefined) this.#claims.add(turn.key);
    this.mostClaims = Math.max(this.mostClaims, this.#claims.size);
    return appended;
  }

  override async claim(max: number, leaseMs: number, keyPrefix?: string) {
    const turns = await super.claim(max, leaseMs, keyPrefix);
    for (const { key } of turns) this.#claims.add(key);
    this.mostClaims = Math.max(this.mostClaims, this.#claims.size);
    return turns;
  }

  override async commit(results: readonly TurnResult[]): Promise<readonly Committed[]> {
    if (this.isFailing) throw new UnavailableError('the disk is full', 1);
    const ids = await Promise.all(results.map(({ key, seq }) => this.#idOf(key, seq)));
    const committed = await super.commit(results);
    for (const [i, { key, outcome }] of results.entries()) {
      if (committed[i]?.isCurrent !== true) continue;
      if (committed[i]?.next === undefined) this.#claims.delete(key);
      if (finalOutcomes.has(outcome))
        this.finalIds.set(key, [...(this.finalIds.get(key) ?? []), ids[i] ?? '']);
      else this.otherOutcomes.add(outcome);
    }
    return committed;
  }

  async #idOf(key: string, seq: number): Promise<string> {
    const found = await this.deliveries({ keyPrefix: key, beforeSeq: seq + 1, limit: 1 });
    return found[0]?.seq === seq ? found[0].id : 'unknown';
  }
}

/** Handler behaviours. `ok` is repeated to make it more frequent. */
const behaviours = [
  'ok',
  'ok',
  'ok',
  'later',
  'fails once',
  'fails always',
  'is final',
  'throws',
  'rejects',
  'is ignored',
  'hangs',
  'answers late',
  'is no outcome',
] as const;
type Behaviour = (typeof behaviours)[number];

/** The failures of the other behaviours use the default retry policy, which pauses for seconds. */
const quickBehaviours = behaviours.filter((each) => !['throws', 'rejects', 'is no outcome'].includes(each));

const retry = { attempts: 3, min_backoff_seconds: 0.001, max_backoff_seconds: 0.004, factor: 2 };
/** Short intervals of the dispatcher, for a fast test. Aborted runs may continue for `patienceMs`. */
const quick = { tickMs: 4, pollMs: 8, leaseMs: 10_000, renewMs: 20, lingerMs: 10, patienceMs: 10 };

const whenAborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve());
  });
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Handles an event with the behaviour in its `meta`. Most behaviours succeed at the second attempt. */
function behave({ event, signal }: Assignment): Promise<WorkOutcome> {
  const isFirst = event.attempt === 1;
  switch (event.meta as Behaviour) {
    case 'throws':
      if (isFirst) throw new Error('during the call');
      return Promise.resolve(done);
    case 'rejects':
      return isFirst ? Promise.reject(new Error('later')) : Promise.resolve(done);
    case 'later':
      return pause(3).then(() => done);
    case 'fails once':
      return Promise.resolve(isFirst ? failed('once', retry) : done);
    case 'fails always':
      return Promise.resolve(failed('always', retry));
    case 'is final':
      return Promise.resolve({ kind: 'failed', note: 'final', isFinal: true, retry });
    case 'is ignored':
      return Promise.resolve({ kind: 'ignored', note: 'no handler' });
    case 'hangs':
      return isFirst ? whenAborted(signal).then(() => failed('aborted', retry)) : Promise.resolve(done);
    case 'answers late':
      return isFirst
        ? whenAborted(signal)
            // Longer than `patienceMs`: the dispatcher has abandoned the run.
            .then(() => pause(25))
            .then(() => failed('late', retry))
        : Promise.resolve(done);
    case 'is no outcome':
      return Promise.resolve(isFirst ? ({} as WorkOutcome) : done);
    default:
      return Promise.resolve(done);
  }
}

/**
 * Kinds of faults. `the commits fail` and `hold` (the trigger holds its events) begin at their first
 * occurrence, and end at the next.
 */
const faultKinds = [
  'the commits fail',
  'claims expire',
  'drain',
  'the commits recover in a drain',
  'hold',
  'nothing',
  'nothing',
] as const;

/** Two ways to add events: append them directly, or accept them one by one, like webhooks. */
const entryPoints = {
  appended: (_: Dispatcher, store: Store, events: readonly NewEvent[]) => store.append(events),
  accepted: (dispatcher: Dispatcher, _: Store, events: readonly NewEvent[]) =>
    Promise.all(events.map((event) => dispatcher.accept(event))),
};

const scenario = fc.record({
  entryPoint: fc.constantFrom(...(['appended', 'accepted'] as const)),
  /** Number of the conversation per event, and behaviour of the handler. */
  events: fc.array(fc.tuple(fc.nat({ max: 5 }), fc.constantFrom(...behaviours)), {
    minLength: 1,
    maxLength: 40,
  }),
  /** Maximum number of concurrent runs. */
  places: fc.integer({ min: 1, max: 4 }),
  /** Faults, each with the milliseconds until the next fault. */
  faults: fc.array(fc.tuple(fc.constantFrom(...faultKinds), fc.integer({ min: 0, max: 15 })), {
    maxLength: 6,
  }),
});

/** A clock that skips the default pauses of the product, which take seconds. */
class QuickClock {
  offsetMs = 0;
  readonly now = () => Date.now() + this.offsetMs;
}

type Scenario = typeof scenario extends fc.Arbitrary<infer Value> ? Value : never;

/**
 * Runs the scenario. Fails unless each event becomes final once, in order, and runs of the same key never
 * overlap. Returns the outcomes that were committed for events that had to wait.
 */
async function expectEachFinalOnce({ entryPoint, events, places, faults }: Scenario, timeoutMs = 15) {
  const clock = new QuickClock();
  const store = new RecordingStore({ now: clock.now });
  let isPaused = false;
  const work = new FakeWork((assignment) =>
    isPaused ? Promise.resolve({ kind: 'held', trigger: 't' }) : behave(assignment),
  );
  work.timeout = () => timeoutMs;
  const start = () => startInbox({ works: [work], places, store, ...quick }).dispatcher;
  let dispatcher: Dispatcher = start();
  /** Ids of the events in order, by key. */
  const expected = new Map<string, string[]>();
  const newEvents = events.map(([conversation, behaviour], i) => {
    const key = `conversation/${conversation}`;
    expected.set(key, [...(expected.get(key) ?? []), `e${i}`]);
    return newEvent(key, `e${i}`, behaviour);
  });
  const addEvents = entryPoints[entryPoint];
  await addEvents(dispatcher, store, newEvents.slice(0, newEvents.length / 2));
  for (const [fault, ms] of faults) {
    if (fault === 'the commits fail') store.isFailing = !store.isFailing;
    // All claims expire together. The dispatcher claims the events a second time, while old runs may
    // continue.
    if (fault === 'claims expire') clock.offsetMs += quick.leaseMs + 1;
    if (fault === 'hold') isPaused = !isPaused;
    if (fault === 'drain' || fault === 'the commits recover in a drain') {
      // 150 ms is within the time limit of the drain.
      const recovery = fault === 'drain' ? undefined : setTimeout(store.recover, 150);
      // Long enough for late results, because a new dispatcher does not know the runs of the old one.
      await dispatcher.drain(400);
      clearTimeout(recovery);
      // A drained dispatcher starts no run.
      const { length } = work.runs;
      await pause(10);
      expect(work.runs.length).toBe(length);
      // If a commit failed until the drain was complete, the claim expires, or is ended at the next start.
      if (store.isFailing) clock.offsetMs += quick.leaseMs + 1;
      dispatcher = start();
    }
    await pause(ms);
  }
  await addEvents(dispatcher, store, newEvents.slice(newEvents.length / 2));
  store.recover();
  isPaused = false;
  const isOver = async () => {
    const { queued, running, retrying, held } = await store.counts();
    await store.release('t');
    // Skips the pauses of the default retry policy.
    if (retrying > 0) clock.offsetMs += 500;
    return queued + running + retrying + held === 0;
  };
  await until('all have ended', isOver, 15_000);
  await until(
    'the dispatcher has received the last results',
    () => dispatcher.stats().conversation?.active === 0,
  );
  await dispatcher.drain(200);
  expect(work.overlaps).toEqual([]);
  expect(Object.fromEntries(store.finalIds)).toEqual(Object.fromEntries(expected));
  // No event started before all earlier events of the same key were final.
  for (const [key, ids] of expected) {
    const runOrder = work.runs.filter((run) => run.key === key).map(({ id }) => ids.indexOf(id));
    expect(runOrder).toEqual([...runOrder].sort((x, y) => x - y));
  }
  expect(dispatcher.stats().conversation).toMatchObject({ active: 0, resting: 0, overruns: 0 });
  return store.otherOutcomes;
}

test('every accepted event becomes final exactly once, in order, and runs of the same key never overlap (A4)', async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async (each) => void (await expectEachFinalOnce(each))),
    { numRuns: runs(60) },
  );
});

describe('an event released by a drain is handled again and recorded once', () => {
  test('if the drain aborts its run', async () => {
    const events: Scenario['events'] = [
      [0, 'hangs'],
      [0, 'ok'],
    ];
    const faults: Scenario['faults'] = [
      ['nothing', 10],
      ['drain', 0],
    ];
    const otherOutcomes = await expectEachFinalOnce(
      { entryPoint: 'appended', events, places: 2, faults },
      1_000,
    );
    expect(otherOutcomes).toContain('queued');
  });

  // The first result is committed too late, under an expired claim, and the drain releases the next claim.
  // The second scenario reaches this only on a busy machine.
  test.each<Scenario['faults'][]>([
    [
      [
        ['the commits fail', 0],
        ['claims expire', 15],
        ['the commits recover in a drain', 0],
      ],
    ],
    [
      [
        ['the commits fail', 0],
        ['the commits fail', 0],
        ['claims expire', 0],
        ['drain', 0],
      ],
    ],
  ])('if the commits fail before the drain: %j', async (faults) => {
    const events: Scenario['events'] = [
      [0, 'is final'],
      [0, 'ok'],
    ];
    for (let i = 0; i < 2; i += 1)
      await expectEachFinalOnce({ entryPoint: 'appended', events, places: 2, faults });
  });
});

test('every event in the embedded SQLite store becomes final once and in order, despite drains and restarts', async () => {
  const folder = storeFolder();
  const open = () => openSqliteStore({ file: join(folder, 'inbox.db'), workerUrl: storeWorkerUrl() });
  const work = new FakeWork(behave);
  work.timeout = () => 15;
  // 300 events to 30 conversations, in batches of 60. A drain and a restart follow each batch.
  const sent = Array.from({ length: 300 }, (_, i) =>
    newEvent(`conversation/${(i * 7) % 30}`, `e${i}`, quickBehaviours[i % quickBehaviours.length]),
  );
  let store = await open();
  let { dispatcher } = startInbox({ works: [work], places: 8, store, ...quick });
  for (let i = 0; i < sent.length; i += 60) {
    await entryPoints.accepted(dispatcher, store, sent.slice(i, i + 30));
    await entryPoints.appended(dispatcher, store, sent.slice(i + 30, i + 60));
    await pause(20);
    await dispatcher.drain(400);
    await store.close();
    store = await open();
    dispatcher = startInbox({ works: [work], places: 8, store, ...quick }).dispatcher;
  }
  const countUnfinished = async () => {
    const { queued, running, retrying } = await store.counts();
    return queued + running + retrying;
  };
  await until('all have ended', async () => (await countUnfinished()) === 0, 15_000);
  await dispatcher.drain(400);
  const records = await store.deliveries({ limit: 1_000 });
  expect(records.length).toBe(300);
  for (let key = 0; key < 30; key += 1) {
    const ofKey = records.filter((record) => record.key === `conversation/${key}`).reverse();
    expect(ofKey.map(({ id }) => id)).toEqual(
      sent.filter((event) => event.key === `conversation/${key}`).map(({ id }) => id),
    );
    const endTimes = ofKey.map(({ endedAt = 0 }) => endedAt);
    expect(endTimes).toEqual([...endTimes].sort((x, y) => x - y));
  }
  expect(work.overlaps).toEqual([]);
  await store.close();
});

test.each(['appended', 'accepted'] as const)(
  'a burst of 1,000 messages to 100 conversations, %s, keeps their order with limited claims, runs and actors (A8)',
  async (entryPoint) => {
    const store = new RecordingStore();
    const work = new FakeWork(({ event }) =>
      event.seq % 3 === 0 ? pause(1).then(() => done) : Promise.resolve(done),
    );
    const { dispatcher, root } = startInbox({ works: [work], places: 16, store, maxResting: 20, tickMs: 4 });
    let mostActors = 0;
    const sent = Array.from({ length: 1_000 }, (_, i) => newEvent(`conversation/${(i * 37) % 100}`, `e${i}`));
    for (let i = 0; i < sent.length; i += 50)
      await entryPoints[entryPoint](dispatcher, store, sent.slice(i, i + 50));
    await until('all are done', () => {
      const snapshot: unknown = root.system.get('conversation')?.getSnapshot();
      mostActors = Math.max(mostActors, Object.keys((snapshot as { children: object }).children).length);
      return dispatcher.stats().conversation?.done === 1_000;
    });
    await dispatcher.drain(500);
    expect(work.overlaps).toEqual([]);
    expect(work.runs.length).toBe(1_000);
    for (let key = 0; key < 100; key += 1) {
      const name = `conversation/${key}`;
      const ids = sent.filter((event) => event.key === name).map(({ id }) => id);
      expect(work.runs.filter((run) => run.key === name).map(({ id }) => id)).toEqual(ids);
      expect(store.finalIds.get(name)).toEqual(ids);
    }
    expect(store.mostClaims).toBeLessThanOrEqual(16);
    expect(work.mostAtOnce).toBeLessThanOrEqual(16);
    expect(mostActors).toBeGreaterThan(0);
    // One actor per concurrent run (16), and one per mailbox that rests without an event (`maxResting`).
    expect(mostActors).toBeLessThanOrEqual(16 + 20);
  },
);

test('conversations whose handlers never return do not delay other conversations while a slot is free (A6)', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 6 }),
      fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 30 }),
      async (stuckCount, keys) => {
        const store = new RecordingStore();
        /** Functions that complete the stuck runs. */
        const endStuckRuns: (() => void)[] = [];
        const work = new FakeWork(({ event }) => {
          if (!event.key.startsWith('conversation/stuck')) return Promise.resolve(done);
          return new Promise((resolve) => endStuckRuns.push(() => resolve(done)));
        });
        const { dispatcher } = startInbox({ works: [work], places: stuckCount + 1, store, ...quick });
        await store.append(
          Array.from({ length: stuckCount }, (_, i) => newEvent(`conversation/stuck-${i}`, `s${i}`)),
        );
        await store.append(keys.map((key, i) => newEvent(`conversation/${key}`, `e${i}`)));
        await until('the others are done', () => dispatcher.stats().conversation?.done === keys.length);
        expect(dispatcher.stats().conversation?.active).toBe(stuckCount);
        for (const end of endStuckRuns) end();
        await until(
          'the stuck are done',
          () => dispatcher.stats().conversation?.done === keys.length + stuckCount,
        );
        await dispatcher.drain(200);
        expect(work.overlaps).toEqual([]);
      },
    ),
    { numRuns: runs(40) },
  );
});
