// The dispatcher with an in-memory store: outcomes, misbehaving handlers, failing stores, lost claims, and
// draining.
// Invariant A4 is in ARCHITECTURE.md.

import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { AnyActorRef } from 'xstate';
import { OverloadedError, StoppedError, UnavailableError } from '../../../../../actors/base/errors/errors.ts';
import type { Assignment, WorkOutcome } from '../../../../../actors/events/inbox/work.ts';
import type { NewEvent, StoredEvent } from '../../../../../actors/store/event.ts';
import type { AppendOptions, Committed, TurnRef, TurnResult } from '../../../../../actors/store/store.ts';
import { openSqliteStore } from '../../../../../actors/store/worker/sqlite-store.ts';
import {
  done,
  FakeWork,
  failed,
  newEvent,
  startInbox,
  until,
} from '../../../../fixtures/automation/inbox.ts';
import { storeFolder } from '../../../../fixtures/store/engine-store.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';
import { storeWorkerUrl } from '../../../../fixtures/store/store-worker.ts';

const running: { drain(graceMs: number): Promise<void> }[] = [];
function inbox(options: Parameters<typeof startInbox>[0]) {
  const started = startInbox(options);
  running.push(started.dispatcher);
  const { store, dispatcher, log, root } = started;
  return {
    ...started,
    append: (...events: NewEvent[]) => store.append(events),
    stateOf: async (id: string) => (await store.delivery(id))?.state,
    ended: (id: string) =>
      until(`${id} ends`, async () => {
        const state = (await store.delivery(id))?.state;
        return state === 'done' || state === 'dead' || state === 'ignored';
      }),
    stats: (name = 'conversation') => {
      const stats = dispatcher.stats()[name];
      if (stats === undefined) throw new Error(`no queue ${name}`);
      return stats;
    },
    linesWith: (message: string) => log.lines.filter((line) => line.message === message),
    /** Returns the actors of the active mailboxes. */
    actors: () => {
      const snapshot: unknown = root.system.get('conversation')?.getSnapshot();
      return Object.values((snapshot as { children: Record<string, object> }).children);
    },
  };
}
afterEach(async () => {
  await Promise.all(running.splice(0).map((dispatcher) => dispatcher.drain(200)));
  vi.restoreAllMocks();
});

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const a = (id: string) => newEvent('conversation/a', id);
const b = (id: string) => newEvent('conversation/b', id);

/** Store that counts claims. */
class CountingStore extends MemoryStore {
  claims = 0;

  override claim(max: number, leaseMs: number, keyPrefix?: string) {
    this.claims += 1;
    return super.claim(max, leaseMs, keyPrefix);
  }
}

/** Store whose turns contain the appended event object, like the embedded store. */
class PassingStore extends MemoryStore {
  beforeAppend: Promise<void> = Promise.resolve();

  override async append(events: readonly NewEvent[], options?: AppendOptions) {
    await this.beforeAppend;
    const appended = await super.append(events, options);
    return appended.map((each, n) => {
      const { turn } = each;
      return turn === undefined
        ? each
        : { ...each, turn: { ...turn, event: { ...events[n], ...turn.event } } };
    });
  }
}

/** Promise that the test resolves. */
class Gate {
  open: () => void = () => {};
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}

/** Handler that runs until the signal is aborted. */
const hangs = ({ signal }: Assignment) =>
  new Promise<WorkOutcome>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason));
  });

describe('an event', () => {
  test('is handled and committed, and its waiting caller receives the outcome', async () => {
    const work = new FakeWork(async () => ({ kind: 'done', trigger: 't', answer: 'hello', note: 'n' }));
    const { dispatcher, store, append, linesWith } = inbox({ works: [work] });
    const settled = dispatcher.waitUntilSettled('t', 'a1', 2_000);
    await append(a('a1'));
    expect(await settled).toEqual({ state: 'done', answer: 'hello', note: 'n' });
    expect(await store.delivery('a1')).toMatchObject({
      state: 'done',
      attempts: 1,
      trigger: 't',
      answer: 'hello',
    });
    expect(linesWith('delivery ended')).toMatchObject([
      { level: 'info', fields: { delivery: 'a1', key: 'conversation/a', outcome: 'done', trigger: 't' } },
    ]);
  });

  test('that starts a wait is reported to its caller with its wake-up time', async () => {
    const alarm = { ...newEvent('conversation/a', 'alarm'), kind: 'timer', wakes: 'it' };
    const work = new FakeWork(async ({ event }) => {
      if (event.woken !== undefined) return { kind: 'done', answer: `after ${event.woken.id}` };
      const timers = [{ id: 'alarm', inMs: 60_000, event: alarm }];
      return { kind: 'parked', parkedOn: 'it', note: 'later', timers };
    });
    const { dispatcher, append } = inbox({ works: [work] });
    const [first, second] = [
      dispatcher.waitUntilSettled('t', 'a1', 20_000),
      dispatcher.waitUntilSettled('t', 'a2', 20_000),
    ];
    const askedAt = Date.now();
    await append(a('a1'));
    const parked = await first;
    expect(parked).toEqual({ state: 'waiting', note: 'later', waitingFor: 'it', until: expect.any(Number) });
    expect(parked?.until).toBeGreaterThanOrEqual(askedAt + 60_000);
    // When the second event parks, the first no longer blocks the waking event (which resumes a parked
    // event).
    await append({ ...a('w1'), wakes: 'it' });
    await append(a('a2'), { ...a('w2'), wakes: 'it' });
    expect(await second).toMatchObject({ state: 'done', answer: 'after w2' });
  });

  test('that the store does not park has failed with the reason, and its sender is notified', async () => {
    const work = new FakeWork(async () => ({ kind: 'parked', trigger: 't', parkedOn: 'it' }));
    const notices: unknown[] = [];
    const noticing = Object.assign(work, {
      noticeRows: (_: StoredEvent, ...notice: readonly unknown[]) => {
        notices.push(notice);
        return [];
      },
    });
    const { store, append } = inbox({ works: [noticing], store: new MemoryStore({ maxParked: 0 }) });
    await append(a('a1'));
    await until('a1 has failed', async () => (await store.delivery('a1'))?.state === 'retrying');
    const note = expect.stringContaining('deliveries.max_parked: 0');
    expect(await store.delivery('a1')).toMatchObject({ trigger: 't', failures: [{ note }] });
    expect(notices).toEqual([['waits', 't']]);
  });

  test('keeps its journal rows and approvals if the store does not park it, and the attempt counts', async () => {
    const run = { kind: 'flow', name: 'f', figures: '{}' } as const;
    const asks = [{ id: 'ask', body: '{}', expiresInMs: undefined, onCancel: [] }];
    const steps = ['{"kind":"result"}'];
    const work = new FakeWork(async () => ({ kind: 'parked', parkedOn: 'it', state: 's', steps, run, asks }));
    const { store, append } = inbox({ works: [work], store: new MemoryStore({ maxParked: 0 }) });
    await append(a('a1'));
    await until('a1 has failed', async () => (await store.delivery('a1'))?.state === 'retrying');
    expect((await store.steps('a1')).map(({ text }) => text)).toEqual(steps);
    expect((await store.approval('ask'))?.state).toBe('pending');
    expect(await store.delivery('a1')).toMatchObject({ attempts: 1 });
  });

  test('commits its snapshot (for the next event of its key), emitted events and timers together', async () => {
    const seen: (string | undefined)[] = [];
    const work = new FakeWork(async ({ event, snapshot }) => {
      seen.push(snapshot);
      if (event.id === 'a1')
        return {
          kind: 'done',
          snapshot: 'one',
          emit: [b('a1/1')],
          timers: [{ id: 't', inMs: 5, event: a('timer') }],
        };
      return { kind: 'done', snapshot: event.id === 'a2' ? null : undefined };
    });
    const { append, ended } = inbox({ works: [work], pollMs: 20 });
    await append(a('a1'), a('a2'), a('a3'));
    for (const id of ['a3', 'a1/1', 'timer']) await ended(id);
    expect(work.runs.filter(({ key }) => key === 'conversation/a').map(({ id }) => id)).toEqual([
      'a1',
      'a2',
      'a3',
      'timer',
    ]);
    expect(seen.filter((snapshot) => snapshot !== undefined)).toEqual(['one']);
  });

  test('that fails is retried after a pause, before later events of its key, and finally is dead', async () => {
    const work = new FakeWork(async ({ event }) => (event.id === 'a1' ? failed('no luck') : done));
    const { dispatcher, store, append, ended, stats, linesWith } = inbox({ works: [work], pollMs: 20 });
    const settled = dispatcher.waitUntilSettled('t', 'a1', 5_000);
    await append(a('a1'), a('a2'), b('b1'));
    expect(await settled).toEqual({ state: 'dead', answer: undefined, note: 'no luck' });
    await ended('a2');
    expect(
      work.runs.filter(({ key }) => key === 'conversation/a').map(({ id, attempt }) => [id, attempt]),
    ).toEqual([
      ['a1', 1],
      ['a1', 2],
      ['a1', 3],
      ['a2', 1],
    ]);
    expect((await store.delivery('a1'))?.failures.map(({ note }) => note)).toEqual(Array(3).fill('no luck'));
    expect(stats()).toMatchObject({ handled: 5, done: 2, failed: 3, retried: 2, dead: 1 });
    expect(linesWith('delivery failed; retrying').map(({ level }) => level)).toEqual(['warn', 'warn']);
    expect(linesWith('delivery is dead: no further attempts')).toMatchObject([
      { level: 'error', fields: { delivery: 'a1', reason: 'no luck', attempt: 3 } },
    ]);
  });

  test('with a final failure is dead immediately', async () => {
    const work = new FakeWork(async () => ({ ...failed('never'), isFinal: true }) as WorkOutcome);
    const { append, ended, stateOf } = inbox({ works: [work] });
    await append(a('a1'));
    await ended('a1');
    expect([await stateOf('a1'), work.runs.length]).toEqual(['dead', 1]);
  });

  test('of a paused trigger is held with all later events, and continues when the trigger is resumed', async () => {
    let isPaused = true;
    const work = new FakeWork(async () => (isPaused ? { kind: 'held', trigger: 't' } : done));
    const { store, append, ended, stateOf, stats } = inbox({ works: [work] });
    await append(a('a1'), a('a2'));
    await until('it is held', async () => (await stateOf('a1')) === 'held');
    expect(await stateOf('a2')).toBe('queued');
    isPaused = false;
    expect(await store.release('t')).toBe(1);
    await ended('a2');
    expect(work.runs.map(({ id }) => id)).toEqual(['a1', 'a1', 'a2']);
    expect(stats()).toMatchObject({ held: 1, done: 2 });
  });

  test('fails if its handler throws, immediately or later, with a redacted note', async () => {
    const work = new FakeWork(({ event }) => {
      if (event.id === 'a1') throw new Error('hunter2 early');
      return Promise.reject(new Error('hunter2 later'));
    });
    const { store, append, linesWith } = inbox({
      works: [work],
      redact: (text) => text.replaceAll('hunter2', '[redacted]'),
    });
    await append(a('a1'), b('b1'));
    await until('both have failed', async () => (await store.counts()).retrying === 2);
    expect((await store.delivery('a1'))?.note).toBe('[redacted] early');
    expect((await store.delivery('b1'))?.note).toBe('[redacted] later');
    expect(JSON.stringify(linesWith('delivery failed; retrying'))).not.toContain('hunter2');
  });

  test('has a limited number of waiting callers, and no caller waits beyond its deadline', async () => {
    const work = new FakeWork(hangs);
    const { dispatcher, append } = inbox({ works: [work], maxWaiting: 1 });
    const settled = dispatcher.waitUntilSettled('t', 'a1', 30);
    await expect(dispatcher.waitUntilSettled('t', 'a2', 30)).rejects.toMatchObject({
      code: 'ERR_OVERLOADED',
    });
    await append(a('a1'));
    expect(await settled).toBeUndefined();
    expect(await dispatcher.waitUntilSettled('t', 'a2', 1)).toBeUndefined();
  });
});

describe('accepting an event', () => {
  test('of an idle conversation claims the event, whose run starts after the sender received the response', async () => {
    const store = new CountingStore();
    store.wake = () => () => {};
    const work = new FakeWork(async () => done);
    const { dispatcher, ended, stateOf } = inbox({ works: [work], store, tickMs: 60_000 });
    await until('the first claims were asked for', () => store.claims > 0);
    const before = store.claims;
    const appended = await dispatcher.accept(a('a1'));
    expect([appended.outcome, work.runs.length]).toEqual(['new', 0]);
    await ended('a1');
    expect(await stateOf('a1')).toBe('done');
    await dispatcher.accept(a('a2'));
    await ended('a2');
    expect([work.runs.map(({ id }) => id), store.claims]).toEqual([['a1', 'a2'], before]);
  });

  test('passes the parsed event to the first attempt, and later attempts parse it again', async () => {
    const seen: unknown[] = [];
    const work = new FakeWork(async ({ event }) => {
      seen.push(event.parsed);
      return event.attempt === 1 ? failed('no luck') : done;
    });
    const { dispatcher, ended } = inbox({ works: [work], store: new PassingStore(), pollMs: 10 });
    const parsed = { read: 'once' };
    await dispatcher.accept({ ...a('a1'), parsed });
    await ended('a1');
    expect(seen).toEqual([parsed, undefined]);
    expect(seen[0]).toBe(parsed);
  });

  test('does not overtake events of conversations that wait longer for a slot', async () => {
    const gate = new Gate();
    const work = new FakeWork(({ event }) =>
      event.id === 'a1' ? gate.opened.then(() => done) : Promise.resolve(done),
    );
    const { dispatcher, ended } = inbox({ works: [work], places: 1 });
    await dispatcher.accept(a('a1'));
    await until('it runs', () => work.runs.length === 1);
    await dispatcher.accept(b('b1'));
    await dispatcher.accept(b('b2'));
    gate.open();
    await dispatcher.accept(newEvent('conversation/c', 'c1'));
    await ended('c1');
    await ended('b2');
    expect(work.runs.map(({ id }) => id).indexOf('b1')).toBeLessThan(
      work.runs.map(({ id }) => id).indexOf('c1'),
    );
    expect(work.mostAtOnce).toBe(1);
  });

  test('beyond the free slots leaves further events queued in the store', async () => {
    const gate = new Gate();
    const work = new FakeWork(() => gate.opened.then(() => done));
    const { dispatcher, store, stats } = inbox({ works: [work], places: 3 });
    const events = Array.from({ length: 10 }, (_, n) => newEvent(`conversation/${n}`, `e${n}`));
    await Promise.all(events.map((event) => dispatcher.accept(event)));
    await until('three run', () => work.runs.length === 3);
    expect((await store.counts()).running).toBe(3);
    gate.open();
    await until('all are done', () => stats().done === 10);
    expect(work.mostAtOnce).toBe(3);
  });

  test('runs it in a free slot while a query for waiting events is pending', async () => {
    const gate = new Gate();
    const store = new CountingStore();
    const claim = store.claim.bind(store);
    store.claim = (...args) => gate.opened.then(() => claim(...args));
    store.wake = () => () => {};
    const work = new FakeWork(async () => done);
    const { dispatcher, ended } = inbox({ works: [work], store, places: 2, tickMs: 60_000 });
    await dispatcher.accept(a('a1'));
    await ended('a1');
    gate.open();
  });

  test('that is a duplicate frees its reserved slot for waiting events', async () => {
    const file = join(storeFolder(), 'store.db');
    const store = await openSqliteStore({ file, workerUrl: storeWorkerUrl() });
    const work = new FakeWork(async () => done);
    const { dispatcher, append, ended, stats } = inbox({ works: [work], store, places: 1, tickMs: 60_000 });
    for (let n = 0; n < 20; n += 1) {
      await dispatcher.accept(a(`a${n}`));
      await until('it rests', () => stats().done === 2 * n + 1 && stats().active === 0);
      const repeated = dispatcher.accept(a(`a${n}`));
      await append(b(`b${n}`));
      expect((await repeated).outcome).toBe('duplicate');
      await ended(`b${n}`);
      await until('it rests', () => stats().done === 2 * n + 2 && stats().active === 0);
    }
    await dispatcher.drain(500);
    await store.close();
  });

  test('fails if the store rejects the event, and frees its slot', async () => {
    const store = new CountingStore({ maxWaiting: 0 });
    const { dispatcher } = inbox({ works: [new FakeWork(async () => done)], store, places: 1 });
    for (let n = 0; n < 3; n += 1)
      await expect(dispatcher.accept(a(`a${n}`))).rejects.toThrow(OverloadedError);
    await dispatcher.drain(1_000);
    expect(dispatcher.stats().conversation).toMatchObject({ active: 0, handled: 0 });
  });

  test('in progress when the gateway stops is awaited, and its claim is released', async () => {
    const gate = new Gate();
    const store = new PassingStore();
    store.beforeAppend = gate.opened;
    const work = new FakeWork(async () => done);
    const { dispatcher } = inbox({ works: [work], store });
    const accepted = dispatcher.accept(a('a1'));
    const drained = dispatcher.drain(2_000);
    gate.open();
    expect((await accepted).outcome).toBe('new');
    await drained;
    expect(['done', 'queued']).toContain((await store.delivery('a1'))?.state);
    expect(await store.claim(1, 1_000)).toHaveLength((await store.delivery('a1'))?.state === 'done' ? 0 : 1);
  });
});

describe('a handler', () => {
  test('that reaches its deadline is aborted, counts as failed, and delays no other key', async () => {
    const work = new FakeWork((assignment) =>
      assignment.event.id === 'a1' ? hangs(assignment) : Promise.resolve(done),
    );
    work.timeout = () => 50;
    const { store, append, ended } = inbox({ works: [work] });
    await append(a('a1'), b('b1'));
    await ended('b1');
    await until('a1 has failed', async () => (await store.delivery('a1'))?.state === 'retrying');
    expect((await store.delivery('a1'))?.note).toBe('the attempt reached its deadline');
  });

  test('that returns after its deadline counts as failed; a failure that it returns is kept with its note', async () => {
    const work = new FakeWork(({ event, signal }) => {
      return new Promise((resolve) => {
        const late: WorkOutcome =
          event.id === 'a1' ? done : ({ ...failed('my own words'), isFinal: true } as WorkOutcome);
        signal.addEventListener('abort', () => setTimeout(() => resolve(late), 10));
      });
    });
    work.timeout = () => 30;
    const { store, append, ended } = inbox({ works: [work] });
    await append(a('a1'), b('b1'));
    await ended('b1');
    expect(await store.delivery('b1')).toMatchObject({ state: 'dead', note: 'my own words' });
    await until('a1 has failed', async () => (await store.delivery('a1'))?.state === 'retrying');
    expect((await store.delivery('a1'))?.note).toBe('the attempt did not end within 30 ms');
  });

  test('that ignores its abort signal delays only its own conversation, and runs never overlap (A4)', async () => {
    const gate = new Gate();
    const work = new FakeWork(async ({ event, signal }) => {
      if (event.id !== 'a1' || event.attempt > 1) return done;
      await gate.opened;
      expect(signal.aborted).toBe(true);
      return done;
    });
    work.timeout = () => 30;
    const { append, ended, stateOf, stats, linesWith } = inbox({
      works: [work],
      places: 1,
      patienceMs: 50,
      pollMs: 20,
    });
    await append(a('a1'), a('a2'));
    await until('it runs', () => work.runs.length === 1);
    await append(b('b1'));
    expect([await stateOf('b1'), stats().active]).toEqual(['queued', 1]);
    await ended('b1');
    expect(await stateOf('a1')).toBe('running');
    expect(stats()).toMatchObject({ active: 1, overruns: 1, states: { overrun: 1, ready: 1 } });
    expect(linesWith('a handler ignores its abort signal; its conversation waits for it')).toMatchObject([
      { level: 'error', fields: { delivery: 'a1', key: 'conversation/a' } },
    ]);
    gate.open();
    await until('a1 has failed', async () => (await stateOf('a1')) === 'retrying');
    expect(stats()).toMatchObject({ active: 0, overruns: 0 });
    expect(work.overlaps).toEqual([]);
  });

  test('that ignores its abort signal keeps its slot if the number of zombie runs is at its limit', async () => {
    const gate = new Gate();
    const work = new FakeWork(async () => {
      await gate.opened;
      return done;
    });
    work.timeout = () => 10;
    const { append, stats } = inbox({ works: [work], places: 2, patienceMs: 10 });
    await append(...Array.from({ length: 10 }, (_, i) => newEvent(`conversation/${i}`, `e${i}`)));
    await until('four run', () => work.runs.length === 4);
    await new Promise((resolve) => setTimeout(resolve, 350));
    expect([work.runs.length, stats().active, stats().overruns]).toEqual([4, 4, 2]);
    gate.open();
    await until('none is left of them', () => stats().overruns === 0);
  });

  test('that returns an invalid outcome counts as failed, and affects no other event', async () => {
    const work = new FakeWork(async ({ event }) => (event.id === 'a1' ? ({} as WorkOutcome) : done));
    const { store, append, ended, linesWith } = inbox({ works: [work] });
    await append(a('a1'), b('b1'));
    await ended('b1');
    await until('it has failed', async () => (await store.counts()).retrying === 1);
    expect((await store.delivery('a1'))?.note).toBe(
      'internal error of the gateway: the work returned an outcome of unknown kind',
    );
    expect(linesWith('internal error in a turn of a conversation')).toMatchObject([{ level: 'error' }]);
    await append(b('b2'));
    await ended('b2');
  });
});

test('an internal error of a mailbox actor aborts its run, which is awaited and then counts as failed', async () => {
  const gate = new Gate();
  const reasons: unknown[] = [];
  const work = new FakeWork(async ({ event, signal }) => {
    if (event.attempt > 1) return done;
    signal.addEventListener('abort', () => reasons.push(signal.reason));
    await gate.opened;
    return done;
  });
  work.timeout = () => 10;
  const { store, append, log, linesWith, stats } = inbox({ works: [work], patienceMs: 10 });
  // Simulates a bug: an action of the machine throws.
  const { error } = log;
  log.error = (fields, message) => {
    if (message.startsWith('a handler ignores')) throw new Error('no log');
    error.call(log, fields, message);
  };
  await append(a('a1'));
  await until(
    'its actor has failed',
    () => linesWith('internal error in a turn of a conversation').length === 1,
  );
  expect([(await store.delivery('a1'))?.state, stats().active]).toEqual(['running', 1]);
  gate.open();
  await until('the attempt has failed', async () => (await store.delivery('a1'))?.state === 'retrying');
  expect((await store.delivery('a1'))?.note).toBe('internal error of the gateway: no log');
  expect(stats()).toMatchObject({ active: 0, overruns: 0, states: {} });
  expect(work.overlaps).toEqual([]);
});

describe('the kinds of work', () => {
  test('have separate slots: a stuck kind does not delay other kinds', async () => {
    const stuck = new FakeWork(hangs, 'outbox/');
    const work = new FakeWork(async () => done);
    const { append, stats } = inbox({ works: [work, stuck], places: 3 });
    await append(...Array.from({ length: 100 }, (_, i) => newEvent(`outbox/${i}`, `o${i}`)));
    await until('its places are taken', () => stuck.runs.length === 3);
    await append(...Array.from({ length: 100 }, (_, i) => newEvent(`conversation/${i}`, `c${i}`)));
    await until('all are done', () => stats().done === 100);
    expect([stuck.runs.length, stuck.mostAtOnce, work.mostAtOnce]).toEqual([3, 3, expect.any(Number)]);
    expect(work.mostAtOnce).toBeLessThanOrEqual(3);
    expect(stats('outbox')).toMatchObject({ active: 3, done: 0 });
  });

  test('share slots fairly: an endless conversation yields its slot', async () => {
    const { store, append, stats } = inbox({
      works: [
        new FakeWork(async ({ event }) => {
          // Each event of the conversation `endless` emits the next event.
          if (event.key !== 'conversation/endless' || stats().done > 5_000) return done;
          return { kind: 'done', emit: [newEvent(event.key, `${event.id}+`.slice(-200) + stats().done)] };
        }),
      ],
      places: 1,
    });
    await append(newEvent('conversation/endless', 'x'));
    await until('it is at work', () => stats().done > 10);
    await append(b('b1'));
    await until('the other is done', async () => (await store.delivery('b1'))?.state === 'done');
    expect(stats().done).toBeLessThan(5_000);
  });
});

describe('mailbox actors', () => {
  test('stay for a while after an event, serve the next event of their key, and end', async () => {
    const work = new FakeWork(async () => done);
    const { append, ended, stats, actors } = inbox({ works: [work], lingerMs: 300 });
    await append(a('a1'));
    await ended('a1');
    await until('it rests', () => stats().resting === 1);
    const [first] = actors();
    await append(a('a2'));
    await ended('a2');
    expect(actors()).toEqual([first]);
    await until('it has ended', () => actors().length === 0);
    expect(stats()).toMatchObject({ active: 0, resting: 0, states: {} });
    await append(a('a3'));
    await ended('a3');
    expect(actors()).not.toContain(first);
  });

  test('are kept idle in a limited number, and the oldest is removed first', async () => {
    const work = new FakeWork(async () => done);
    const { append, stats, actors } = inbox({ works: [work], maxResting: 10 });
    await append(...Array.from({ length: 300 }, (_, i) => newEvent(`conversation/${i}`, `e${i}`)));
    await until('all are done', () => stats().done === 300);
    await until('they rest', () => stats().active === 0);
    expect([stats().resting, actors().length]).toEqual([10, 10]);
  });

  test('that are idle keep no reference to a handled event', async () => {
    const seen: WeakRef<object>[] = [];
    const work = new FakeWork(async ({ event }) => {
      seen.push(new WeakRef(event));
      return { kind: 'done', emit: event.id === 'a1' ? [b('b1')] : [] };
    });
    const { append, stats } = inbox({ works: [work], lingerMs: 60_000 });
    await append(a('a1'));
    await until('both rest', () => stats().resting === 2);
    await until('their events are gone', () => {
      collect();
      return seen.length === 2 && seen.every((event) => event.deref() === undefined);
    });
  });

  test('are children of an actor with the name of their kind of work, and expose their state', async () => {
    const work = new FakeWork(hangs);
    const { root, append, stats } = inbox({ works: [work] });
    await append(a('a1'));
    await until('it runs', () => work.runs.length === 1);
    expect(root.getSnapshot().children.conversation).toBe(root.system.get('conversation'));
    await until('its run lasts', () => stats().states.handling === 1);
    const ref: AnyActorRef = root.system.get('conversation');
    const [conversation] = Object.values<AnyActorRef>(ref.getSnapshot().children);
    expect(Object.keys(conversation?.getSnapshot().children)).toEqual(['run']);
  });
});

/** Store with commits and renewals that fail on request. */
class FlakyStore extends MemoryStore {
  commitError: ((results: readonly TurnResult[]) => Error | undefined) | undefined;
  isRenewFailing = false;
  isClaimFailing = false;
  commits = 0;
  renewals = 0;
  /** Commits wait for this promise. */
  beforeCommit: Promise<void> | undefined;

  override async commit(results: readonly TurnResult[]): Promise<readonly Committed[]> {
    this.commits += 1;
    await this.beforeCommit;
    const error = this.commitError?.(results);
    if (error !== undefined) throw error;
    return super.commit(results);
  }

  override async renew(turns: readonly TurnRef[], leaseMs: number): Promise<readonly TurnRef[]> {
    if (this.isRenewFailing) throw new UnavailableError('no disk', 1);
    this.renewals += 1;
    return super.renew(turns, leaseMs);
  }

  override async claim(max: number, leaseMs: number, keyPrefix?: string) {
    if (this.isClaimFailing) throw new UnavailableError('no disk', 1);
    return super.claim(max, leaseMs, keyPrefix);
  }
}

/** Clocks of the process and of a store that uses `now`. Both can jump, like after a process suspension. */
function suspendedClock() {
  let stoodMs = 0;
  const uptime = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => uptime() + stoodMs);
  return {
    now: () => Date.now() + stoodMs,
    standStill: (ms: number) => {
      stoodMs += ms;
    },
  };
}

describe('a store', () => {
  test('receives all outcomes of one event loop tick in one commit', async () => {
    const store = new FlakyStore();
    const gate = new Gate();
    const work = new FakeWork(() => gate.opened.then(() => done));
    const { append, stats } = inbox({ works: [work], store });
    await append(...Array.from({ length: 50 }, (_, i) => newEvent(`conversation/${i}`, `e${i}`)));
    await until('all run', () => work.runs.length === 50);
    gate.open();
    await until('all are done', () => stats().done === 50);
    expect(store.commits).toBe(1);
  });

  test('that accepts no commits is retried until it accepts them', async () => {
    const store = new FlakyStore();
    store.commitError = () => new UnavailableError('disk is full', 1);
    const work = new FakeWork(async () => done);
    const { append, ended, linesWith } = inbox({ works: [work], store });
    await append(a('a1'), b('b1'));
    await until('it was tried twice', () => store.commits >= 2);
    store.commitError = undefined;
    await ended('a1');
    await ended('b1');
    expect(work.runs.length).toBe(2);
    expect(linesWith('the store does not accept outcomes of events; retrying')).toHaveLength(1);
    expect(linesWith('the store accepts outcomes of events again')).toHaveLength(1);
  });

  test('that accepts no commits until the claim expires delivers the event again', async () => {
    const store = new FlakyStore();
    store.commitError = () => new UnavailableError('disk is full', 1);
    const work = new FakeWork(async () => done);
    const { append, ended, stats } = inbox({ works: [work], store, leaseMs: 250, pollMs: 20 });
    await append(a('a1'));
    await until('the claim was lost', () => stats().lost > 0);
    store.commitError = undefined;
    await ended('a1');
    expect(work.runs.length).toBeGreaterThan(1);
    expect(work.overlaps).toEqual([]);
  });

  test('that rejects one outcome accepts the other outcomes, and the rejected attempt has failed', async () => {
    const store = new FlakyStore();
    store.commitError = (results) =>
      results.some(({ answer }) => answer === 'poison') ? new TypeError('not storable') : undefined;
    const gate = new Gate();
    const work = new FakeWork(({ event }) =>
      gate.opened.then(() => ({
        kind: 'done',
        answer: event.id === 'a1' && event.attempt < 2 ? 'poison' : '',
      })),
    );
    const { append, ended, stateOf } = inbox({ works: [work], store });
    await append(a('a1'), b('b1'));
    await until('both run', () => work.runs.length === 2);
    gate.open();
    await ended('b1');
    await until('a1 has failed', async () => (await stateOf('a1')) === 'retrying');
    expect((await store.delivery('a1'))?.note).toBe('the store refuses the outcome: not storable');
  });

  test('that fails to claim is retried, with one log line', async () => {
    const store = new FlakyStore();
    store.isClaimFailing = true;
    const work = new FakeWork(async () => done);
    const { append, ended, linesWith } = inbox({ works: [work], store, pollMs: 20 });
    await append(a('a1'));
    await until('it is linesWith', () => linesWith('could not claim events; retrying').length > 0);
    store.isClaimFailing = false;
    await ended('a1');
    expect(linesWith('could not claim events; retrying')).toHaveLength(1);
  });

  test('that sends no wake-up is polled', async () => {
    const store = new MemoryStore();
    store.wake = () => () => {};
    const work = new FakeWork(async () => done);
    const { append, ended } = inbox({ works: [work], store, pollMs: 50 });
    await append(a('a1'));
    await ended('a1');
  });
});

describe('a claim', () => {
  test('of a long run is renewed, so that no other node gets the event', async () => {
    const gate = new Gate();
    const work = new FakeWork(() => gate.opened.then(() => done));
    const { store, append, ended } = inbox({ works: [work], leaseMs: 400, renewMs: 100, pollMs: 20 });
    await append(a('a1'));
    await until('it runs', () => work.runs.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 900));
    expect(await store.claim(10, 1_000)).toEqual([]);
    gate.open();
    await ended('a1');
    expect([work.runs.length, (await store.delivery('a1'))?.attempts]).toEqual([1, 1]);
  });

  test('that cannot be renewed is lost in time: the run is aborted, and the event is delivered again', async () => {
    const store = new FlakyStore();
    store.isRenewFailing = true;
    const work = new FakeWork((assignment) =>
      assignment.event.attempt === 1 ? hangs(assignment) : Promise.resolve(done),
    );
    const { append, ended, linesWith } = inbox({
      works: [work],
      store,
      leaseMs: 300,
      renewMs: 100,
      pollMs: 20,
    });
    await append(a('a1'));
    await ended('a1');
    expect(work.runs.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(work.overlaps).toEqual([]);
    expect(linesWith('lost the claim on a conversation; its event will be handled again')).toHaveLength(1);
    expect(linesWith('could not renew claims on conversations; retrying')).toHaveLength(1);
  });

  test('that expired by the local clock is lost even if the store is unavailable', async () => {
    const store = new FlakyStore();
    store.isRenewFailing = true;
    const work = new FakeWork(hangs);
    const { append, stats } = inbox({ works: [work], store, leaseMs: 250, renewMs: 100 });
    await append(a('a1'));
    await until('it runs', () => work.runs.length === 1);
    store.isClaimFailing = true;
    await until('its run was aborted', () => work.runs[0]?.endedAt !== undefined);
    expect(stats()).toMatchObject({ lost: 1, failed: 0 });
    await until('it rests', () => stats().resting === 1);
  });

  test.each(['polls first', 'is woken by the store first'])(
    'that expired during a process suspension is renewed, and its run continues: the dispatcher %s',
    async (who) => {
      const gate = new Gate();
      const clock = suspendedClock();
      const store = new FlakyStore({ now: clock.now });
      const work = new FakeWork(({ event }) =>
        event.id === 'a1' ? gate.opened.then(() => done) : Promise.resolve(done),
      );
      work.timeout = () => 600_000;
      const { append, ended, stats } = inbox({ works: [work], store });
      await append(a('a1'), a('a2'));
      await until('it runs', () => work.runs.length === 1);
      clock.standStill(32_000);
      if (who !== 'polls first') store.noticeTime();
      await until('it was renewed', () => store.renewals === 1);
      expect([stats().lost, work.runs[0]?.endedAt]).toEqual([0, undefined]);
      expect(await store.claim(10, 1_000)).toEqual([]);
      gate.open();
      await ended('a2');
      expect(work.runs.map(({ id, attempt }) => [id, attempt])).toEqual([
        ['a1', 1],
        ['a2', 1],
      ]);
      expect(stats()).toMatchObject({ lost: 0, done: 2, active: 0 });
    },
  );

  test('that was lost is not renewed when the store is available again, although its run continues', async () => {
    const gate = new Gate();
    const store = new FlakyStore();
    store.isRenewFailing = true;
    const work = new FakeWork(async ({ event }) => {
      if (event.attempt === 1) await gate.opened;
      return done;
    });
    const { append, ended, stats } = inbox({ works: [work], store, leaseMs: 300, renewMs: 100, pollMs: 20 });
    await append(a('a1'));
    await until('it runs', () => work.runs.length === 1);
    store.isClaimFailing = true;
    await until('its claim was lost', () => stats().lost === 1);
    store.isRenewFailing = false;
    store.isClaimFailing = false;
    await until('the event comes again', async () => (await store.delivery('a1'))?.attempts !== 1);
    expect(work.runs.length).toBe(1);
    gate.open();
    await ended('a1');
    expect(work.overlaps).toEqual([]);
  });

  test('that is replaced during its commit discards the outcome, and the event runs again', async () => {
    const gate = new Gate();
    let now = 0;
    const store = new FlakyStore({ now: () => Date.now() + now });
    store.beforeCommit = gate.opened;
    const work = new FakeWork(async () => done);
    const { append, ended, stats } = inbox({ works: [work], store, renewMs: 60_000, pollMs: 20 });
    await append(a('a1'));
    await until('it is being committed', () => store.commits === 1);
    now = 60_000;
    await until('it was claimed again', async () => (await store.delivery('a1'))?.attempts === 2);
    gate.open();
    await ended('a1');
    expect(work.runs.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(stats()).toMatchObject({ lost: 1, done: 1 });
  });

  test('that is replaced aborts the run, and the new run waits until the old one has ended (A4)', async () => {
    const gate = new Gate();
    let now = 0;
    const store = new MemoryStore({ now: () => Date.now() + now });
    const work = new FakeWork(async ({ event }) => {
      if (event.attempt === 1) await gate.opened;
      return done;
    });
    const { append, ended, stats } = inbox({ works: [work], store, renewMs: 60_000, pollMs: 20 });
    await append(a('a1'));
    await until('it runs', () => work.runs.length === 1);
    // The store's clock jumps, so the claim has expired, and the dispatcher claims the event a second time.
    now = 60_000;
    await until('the claim was lost', () => stats().lost === 1);
    expect([stats().states, work.runs.length]).toEqual([{ leaving: 1 }, 1]);
    gate.open();
    await ended('a1');
    expect(work.runs.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(work.overlaps).toEqual([]);
  });
});

describe('draining the dispatcher', () => {
  test('lets current runs end, claims no more events, and releases every claim', async () => {
    const gate = new Gate();
    const work = new FakeWork(() => gate.opened.then(() => done));
    const { dispatcher, store, append, stateOf, root } = inbox({ works: [work] });
    await append(a('a1'), a('a2'), b('b1'));
    await until('both run', () => work.runs.length === 2);
    const drained = dispatcher.drain(5_000);
    await append(newEvent('conversation/c', 'c1'));
    gate.open();
    await drained;
    expect([await stateOf('a1'), await stateOf('a2'), await stateOf('b1'), await stateOf('c1')]).toEqual([
      'done',
      'queued',
      'done',
      'queued',
    ]);
    expect((await store.claim(10, 1_000)).map(({ event }) => event.id).sort()).toEqual(['a2', 'c1']);
    expect(root.getSnapshot().children.conversation).toBeUndefined();
  });

  test('aborts the remaining runs, which do not count as failed, and their events are due immediately', async () => {
    const work = new FakeWork(hangs);
    const { dispatcher, store, append, stats, linesWith } = inbox({ works: [work] });
    await append(a('a1'));
    await until('it runs', () => work.runs.length === 1);
    const settled = dispatcher.waitUntilSettled('t', 'a1', 60_000);
    await dispatcher.drain(200);
    expect(await settled).toBeUndefined();
    expect(await store.delivery('a1')).toMatchObject({
      state: 'queued',
      note: 'the gateway was stopped',
      attempts: 0,
    });
    expect((await store.claim(10, 1_000)).map(({ event }) => event.id)).toEqual(['a1']);
    expect(stats()).toMatchObject({ failed: 0, active: 0 });
    expect(linesWith('delivery was returned to the queue: the gateway is stopping')).toHaveLength(1);
  });

  test('never makes an event dead, even at its last attempt', async () => {
    const work = new FakeWork((assignment) =>
      assignment.event.attempt < 6
        ? Promise.resolve(failed('no', { ...quick, attempts: 6 }))
        : hangs(assignment),
    );
    const { dispatcher, append, stateOf } = inbox({ works: [work], pollMs: 10 });
    await append(a('a1'));
    await until('the last attempt runs', () => work.runs.length === 6);
    await dispatcher.drain(100);
    expect(await stateOf('a1')).toBe('queued');
  });

  test('releases the claim although the handler continues, and ends in time', async () => {
    const work = new FakeWork(() => new Promise<WorkOutcome>(() => {}));
    const { dispatcher, store, append } = inbox({ works: [work] });
    await append(a('a1'));
    await until('it runs', () => work.runs.length === 1);
    const startedAt = performance.now();
    await dispatcher.drain(300);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect((await store.claim(10, 1_000)).map(({ event }) => event.id)).toEqual(['a1']);
  });

  test('releases the claim once, even when the actor failed and the run finishes later', async () => {
    const gate = new Gate();
    const work = new FakeWork(() => gate.opened.then(() => done));
    work.timeout = () => 10;
    const { dispatcher, store, append, log, linesWith, stats } = inbox({ works: [work], patienceMs: 10 });
    const commit = vi.spyOn(store, 'commit');
    const { error } = log;
    log.error = (fields, message) => {
      if (message.startsWith('a handler ignores')) throw new Error('no log');
      error.call(log, fields, message);
    };
    await append(a('a1'));
    await until(
      'the actor has failed',
      () => linesWith('internal error in a turn of a conversation').length === 1,
    );
    await dispatcher.drain(100);
    gate.open();
    await until('the run has ended', () => work.runs[0]?.endedAt !== undefined);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(commit.mock.calls.flat(2).map(({ outcome }) => outcome)).toEqual(['queued']);
    expect(stats()).toMatchObject({ failed: 0, lost: 0 });
  });

  test('aborts a handler with the shutdown as the reason in its signal', async () => {
    const reasons: unknown[] = [];
    const work = new FakeWork((assignment) => {
      assignment.signal.addEventListener('abort', () => reasons.push(assignment.signal.reason));
      return hangs(assignment);
    });
    const { dispatcher, append } = inbox({ works: [work] });
    await append(a('a1'));
    await until('it runs', () => work.runs.length === 1);
    await dispatcher.drain(50);
    expect(reasons).toEqual([expect.any(StoppedError)]);
  });

  test('ends immediately if it is idle, and has no effect a second time', async () => {
    const { dispatcher } = inbox({ works: [new FakeWork(async () => done)] });
    const startedAt = performance.now();
    await Promise.all([dispatcher.drain(10_000), dispatcher.drain(10_000)]);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});

const quick = { attempts: 3, min_backoff_seconds: 0.001, max_backoff_seconds: 0.002, factor: 1 };
