// Runs that store checkpoints, park (wait in the store for another event) and are woken. The store fails,
// claims of the dispatcher (permissions to handle a key) expire, and the process drains or is killed, at
// random times. Each run continues at its last acknowledged checkpoint, is woken once per wait, and
// completes. The `meta` of an event lists the steps of its run.

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
/** Short intervals of the dispatcher, which claims and runs events, so that test runs take milliseconds. */
const quickDispatcher = { tickMs: 4, pollMs: 8, leaseMs: 10_000, renewMs: 20, lingerMs: 10, patienceMs: 10 };

/**
 * Steps of a run: `keep` stores a checkpoint, `fail` fails once, `wait` parks the event, `hold` parks it and
 * locks its key. The text after the comma is the origin of the waking event: appended before or after the
 * event is parked, emitted with the commit that parks it (`by its own turn`), or appended by a timer of the
 * store.
 */
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
const faultKinds = ['the commits fail', 'claims expire', 'drain', 'kill', 'nothing', 'nothing'] as const;
type Fault = (typeof faultKinds)[number];

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const nameOf = (id: string, at: number, step: Step) => `${step}: ${id}/${at}`;
const wakerOf = (key: string, name: string): NewEvent => ({
  ...newEvent(key, `waker of ${name}`),
  kind: 'decision',
  wakes: name,
});
/** Returns the event emitted by a checkpoint. */
const emittedEvent = (id: string, at: number) => newEvent('outbox/x', `row of ${id}/${at}`);

/** The handler of the runs. It records violations. */
class RunHandler {
  readonly harness: StoreHarness;
  readonly violations: string[] = [];
  /** Next steps of the runs, according to their last acknowledged checkpoints. */
  readonly #acknowledged = new Map<string, number>();
  /** Steps that have failed. */
  readonly #failed = new Set<string>();

  constructor(harness: StoreHarness) {
    this.harness = harness;
  }

  readonly handle = async ({ event, checkpoint }: Assignment): Promise<WorkOutcome> => {
    const { id, key, woken } = event;
    // A waking event reaches the handler only if no event is parked for it.
    if (event.kind !== undefined) return { kind: 'ignored', note: 'no waiter' };
    await this.#checkHolder(id, key);
    const script = event.meta.split(';') as Step[];
    const from = Number(event.state ?? 0);
    if (from < (this.#acknowledged.get(id) ?? 0)) this.violations.push(`${id} begins at ${from} again`);
    for (const [at, step] of script.entries()) {
      if (at < from) continue;
      const name = nameOf(id, at, step);
      if (step === 'keep' || step === 'keep unawaited') {
        const committed = checkpoint(String(at + 1), { emit: [emittedEvent(id, at)] });
        if (step === 'keep') {
          await committed;
          this.#acknowledged.set(id, at + 1);
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

  /** During a run no other event of the same key (conversation) may hold the key. */
  async #checkHolder(id: string, key: string): Promise<void> {
    for (const { waitingFor, ...other } of await this.#waiting())
      if (other.key === key && waitingFor?.startsWith('hold'))
        this.violations.push(`${id} runs while ${other.id} holds its key`);
  }

  #waiting(): Promise<readonly Delivery[]> {
    return this.harness.store.deliveries({ states: ['waiting'], limit: 100 });
  }

  /** Wakes all events whose waking event is appended after they are parked. */
  async wake(): Promise<void> {
    for (const { key, waitingFor = '' } of await this.#waiting())
      if (waitingFor.includes('woken after: ')) await this.harness.store.append([wakerOf(key, waitingFor)]);
  }
}

/** Number of the conversation, and steps of each run. */
const arbRuns = fc.array(
  fc.tuple(fc.nat({ max: 2 }), fc.array(fc.constantFrom(...steps), { minLength: 1, maxLength: 5 })),
  { minLength: 1, maxLength: 8 },
);
/** Faults, each with the following pause in milliseconds. */
const arbFaults = fc.array(fc.tuple(fc.constantFrom(...faultKinds), fc.integer({ min: 0, max: 12 })), {
  maxLength: 5,
});

async function checkRuns(
  open: () => Promise<StoreHarness>,
  scripts: readonly (readonly [number, readonly Step[]])[],
  faults: readonly (readonly [Fault, number])[],
): Promise<void> {
  const harness = await open();
  const handler = new RunHandler(harness);
  const work = new FakeWork(handler.handle);
  // `works` are handlers, one per kind of key. `places` is the maximum number of concurrent runs.
  const startDispatcher = () =>
    startInbox({ works: [work], places: 3, store: harness.store, ...quickDispatcher }).dispatcher;
  let dispatcher = startDispatcher();
  await harness.store.append(
    scripts.map(([key, script], i) => newEvent(`conversation/${key}`, `e${i}`, script.join(';'))),
  );
  for (const [fault, ms] of faults) {
    if (fault === 'the commits fail') harness.isFailing = !harness.isFailing;
    if (fault === 'claims expire') harness.advance(quickDispatcher.leaseMs + 1);
    if (fault === 'drain' || fault === 'kill') {
      const wasFailing = harness.isFailing;
      // A kill discards everything uncommitted.
      harness.isFailing ||= fault === 'kill';
      await dispatcher.drain(fault === 'kill' ? 20 : 200);
      if (fault === 'kill' || wasFailing) await harness.restart();
      harness.isFailing = wasFailing;
      dispatcher = startDispatcher();
    }
    await handler.wake();
    await pause(ms);
  }
  harness.isFailing = false;
  const areAllComplete = async () => {
    await handler.wake();
    const { queued, running, retrying, held, waiting } = await harness.store.counts();
    if (retrying + waiting > 0) harness.advance(500);
    // There is no handler for the emitted events (key `outbox/x`), so they stay queued.
    return running + retrying + held + waiting === 0 && queued === (await emittedCount(harness.store));
  };
  await until('all have ended', areAllComplete, 20_000);
  await until('the last commits were confirmed', () => dispatcher.stats().conversation?.active === 0);
  await dispatcher.drain(200);
  expect({ violations: handler.violations, overlaps: work.overlaps }).toEqual({
    violations: [],
    overlaps: [],
  });
  for (const [i, [, script]] of scripts.entries()) {
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

/** Returns the number of events that checkpoints emitted. */
const emittedCount = async (store: Store) =>
  (await store.deliveries({ states: ['queued'], keyPrefix: 'outbox/', limit: 1_000 })).length;

test('with a store in memory, every parked run continues at its checkpoint, is woken once per wait, and completes', async () => {
  await fc.assert(
    fc.asyncProperty(arbRuns, arbFaults, (scripts, faults) => checkRuns(memoryHarness, scripts, faults)),
    { numRuns: runs(40) },
  );
});

test('with a store on disk, every parked run continues at its checkpoint, is woken once per wait, and completes', async () => {
  await fc.assert(
    fc.asyncProperty(arbRuns, arbFaults, (scripts, faults) => checkRuns(engineHarness, scripts, faults)),
    { numRuns: runs(30) },
  );
});
