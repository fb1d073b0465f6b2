// Runs that store checkpoints, park and are woken, through the dispatcher: with a failing store, expired
// claims, drains, and crashes between any two steps. The `meta` of an event lists the steps of the run.
// Repeated steps and missing wake-ups are checked afterwards.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Assignment, WorkOutcome } from '../../../actors/events/inbox/work.ts';
import type { Delivery } from '../../../actors/store/delivery.ts';
import type { NewEvent } from '../../../actors/store/event.ts';
import type { Store } from '../../../actors/store/store.ts';
import { done, FakeWork, failed, newEvent, startInbox, until } from '../../fixtures/automation/inbox.ts';
import { runs } from '../../fixtures/property-runs.ts';
import { engineHarness, memoryHarness, type StoreHarness } from '../../fixtures/store/store-harness.ts';

const retry = { attempts: 100, min_backoff_seconds: 0.001, max_backoff_seconds: 0.004, factor: 2 };
/** Short intervals and grace periods of the dispatcher, so that a test run takes milliseconds. */
const quick = { tickMs: 4, pollMs: 8, leaseMs: 10_000, renewMs: 20, lingerMs: 10, patienceMs: 10 };

/** Steps of a run: `keep` stores a checkpoint, `wait` parks, `hold` parks and locks the key. */
const steps = [
  'keep',
  'keep',
  'keep unawaited',
  'fail',
  'wait, woken before',
  'wait, woken by its own turn',
  'wait, woken by a timer',
  'wait, woken after',
  'hold, woken by a timer',
  'hold, woken after',
  'hold, woken before',
] as const;
type Step = (typeof steps)[number];
const faults = ['the commits fail', 'claims expire', 'drain', 'kill', 'nothing', 'nothing'] as const;
type Fault = (typeof faults)[number];

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const nameOf = (id: string, at: number, step: Step) => `${step}: ${id}/${at}`;
const wakerOf = (key: string, name: string): NewEvent => ({
  ...newEvent(key, `waker of ${name}`),
  kind: 'decision',
  wakes: name,
});
/** Returns the event that a checkpoint emits. */
const emittedEvent = (id: string, at: number) => newEvent('outbox/x', `row of ${id}/${at}`);

/** The handler of the runs, which also records them. */
class Runs {
  readonly harness: StoreHarness;
  readonly violations: string[] = [];
  /** Acknowledged position per run. */
  readonly #kept = new Map<string, number>();
  readonly #failed = new Set<string>();

  constructor(harness: StoreHarness) {
    this.harness = harness;
  }

  readonly handle = async ({ event, checkpoint }: Assignment): Promise<WorkOutcome> => {
    const { id, key, woken } = event;
    if (event.kind !== undefined) return { kind: 'ignored', note: 'no waiter' };
    await this.#checkHolder(id, key);
    const script = event.meta.split(';') as Step[];
    const from = Number(event.state ?? 0);
    if (from < (this.#kept.get(id) ?? 0)) this.violations.push(`${id} begins at ${from} again`);
    for (const [at, step] of script.entries()) {
      if (at < from) continue;
      const name = nameOf(id, at, step);
      if (step === 'keep' || step === 'keep unawaited') {
        const committed = checkpoint(String(at + 1), { emit: [emittedEvent(id, at)] });
        if (step === 'keep') {
          await committed;
          this.#kept.set(id, at + 1);
        } else committed.catch(() => {});
      } else if (step === 'fail') {
        if (!this.#failed.has(name)) {
          this.#failed.add(name);
          return failed('once', retry);
        }
      } else if (woken?.id !== `waker of ${name}`) return this.#park(event.key, name, at, step);
    }
    return done;
  };

  async #park(key: string, parkedOn: string, at: number, step: Step): Promise<WorkOutcome> {
    const waker = wakerOf(key, parkedOn);
    if (step.endsWith('before')) await this.harness.store.append([waker]);
    const timers = step.endsWith('timer') ? [{ id: parkedOn, inMs: 5, event: waker }] : [];
    const emit = step.endsWith('its own turn') ? [waker] : [];
    return { kind: 'parked', parkedOn, holdsKey: step.startsWith('hold'), state: String(at), timers, emit };
  }

  /** During a run no other event of the same key may hold the key. */
  async #checkHolder(id: string, key: string): Promise<void> {
    for (const { waitingFor, ...other } of await this.#waiting())
      if (other.key === key && waitingFor?.startsWith('hold'))
        this.violations.push(`${id} runs beside ${other.id}`);
  }

  #waiting(): Promise<readonly Delivery[]> {
    return this.harness.store.deliveries({ states: ['waiting'], limit: 100 });
  }

  /** Wakes all events that wait for a decision. */
  async wake(): Promise<void> {
    for (const { key, waitingFor = '' } of await this.#waiting())
      if (/after: /.test(waitingFor)) await this.harness.store.append([wakerOf(key, waitingFor)]);
  }
}

const arbRuns = fc.array(
  fc.tuple(fc.nat({ max: 2 }), fc.array(fc.constantFrom(...steps), { minLength: 1, maxLength: 5 })),
  { minLength: 1, maxLength: 8 },
);
const arbFaults = fc.array(fc.tuple(fc.constantFrom(...faults), fc.integer({ min: 0, max: 12 })), {
  maxLength: 5,
});

async function tryRuns(
  open: () => Promise<StoreHarness>,
  list: readonly (readonly [number, readonly Step[]])[],
  faultSteps: readonly (readonly [Fault, number])[],
): Promise<void> {
  const harness = await open();
  const runs = new Runs(harness);
  const work = new FakeWork(runs.handle);
  const begin = () => startInbox({ works: [work], places: 3, store: harness.store, ...quick }).dispatcher;
  let dispatcher = begin();
  await harness.store.append(
    list.map(([to, script], i) => newEvent(`conversation/${to}`, `e${i}`, script.join(';'))),
  );
  for (const [fault, ms] of faultSteps) {
    if (fault === 'the commits fail') harness.isFailing = !harness.isFailing;
    if (fault === 'claims expire') harness.advance(quick.leaseMs + 1);
    if (fault === 'drain' || fault === 'kill') {
      const wasFailing = harness.isFailing;
      // A kill discards everything uncommitted.
      harness.isFailing ||= fault === 'kill';
      await dispatcher.drain(fault === 'kill' ? 20 : 200);
      if (fault === 'kill' || wasFailing) await harness.restart();
      harness.isFailing = wasFailing;
      dispatcher = begin();
    }
    await runs.wake();
    await pause(ms);
  }
  harness.isFailing = false;
  const isOver = async () => {
    await runs.wake();
    const { queued, running, retrying, held, waiting } = await harness.store.counts();
    if (retrying + waiting > 0) harness.advance(500);
    return running + retrying + held + waiting === 0 && queued === (await rowsLeft(harness.store));
  };
  await until('all have ended', isOver, 20_000);
  await until('the last commits were confirmed', () => dispatcher.stats().conversation?.active === 0);
  await dispatcher.drain(200);
  expect({ wrong: runs.violations, overlaps: work.overlaps }).toEqual({ wrong: [], overlaps: [] });
  for (const [i, [, script]] of list.entries()) {
    expect(await harness.store.delivery(`e${i}`)).toMatchObject({ state: 'done' });
    for (const [at, step] of script.entries()) {
      if (step.startsWith('keep'))
        expect(await harness.store.delivery(`row of e${i}/${at}`)).toMatchObject({ state: 'queued' });
      if (!/^(wait|hold)/.test(step)) continue;
      const waker = await harness.store.delivery(`waker of ${nameOf(`e${i}`, at, step)}`);
      expect(waker).toMatchObject({ state: 'done', attempts: 0, note: `it woke e${i}` });
    }
  }
  await harness.store.close();
}

const rowsLeft = async (store: Store) =>
  (await store.deliveries({ states: ['queued'], keyPrefix: 'outbox/', limit: 1_000 })).length;

test('every parked run continues at its checkpoint, is woken once per wait, and completes', async () => {
  await fc.assert(
    fc.asyncProperty(arbRuns, arbFaults, (list, happens) => tryRuns(memoryHarness, list, happens)),
    { numRuns: runs(40) },
  );
});

test('every parked run continues, is woken and completes on the embedded store', async () => {
  await fc.assert(
    fc.asyncProperty(arbRuns, arbFaults, (list, happens) => tryRuns(engineHarness, list, happens)),
    { numRuns: runs(30) },
  );
});
