import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PauseFollower } from '../../../../../actors/automation/triggers/pause-follower.ts';
import { Pauses } from '../../../../../actors/automation/triggers/pauses.ts';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import type { Dispatcher } from '../../../../../actors/events/inbox/dispatcher.ts';
import type { Work, WorkOutcome } from '../../../../../actors/events/inbox/work.ts';
import type { Store } from '../../../../../actors/store/store.ts';
import { done, newEvent, startInbox, until } from '../../../../fixtures/automation/inbox.ts';
import { openEngineStore, storeFolder } from '../../../../fixtures/store/engine-store.ts';

const folder = storeFolder();
let count = 0;
let file: string;
let store: Store;
let dispatcher: Dispatcher | undefined;

beforeEach(() => {
  file = join(folder, `${++count}.sqlite`);
  ({ store } = openEngineStore({ file }));
});
afterEach(async () => {
  await dispatcher?.drain(0);
  dispatcher = undefined;
  await store.close();
});

const key = 'conversation/http/orders';
const stateOf = async (id: string) => (await store.delivery(id))?.state;
const loadPauses = async () => {
  const pauses = new Pauses();
  await pauses.load(store);
  return pauses;
};

test('an event that is about to be held is released if its trigger is resumed meanwhile', async () => {
  const pauses = new Pauses();
  let resolveCheck = () => {};
  const isResumed = new Promise<void>((resolve) => {
    resolveCheck = resolve;
  });
  let runs = 0;
  const work: Work = {
    prefix: 'conversation/',
    timeoutMs: () => 10_000,
    async perform(): Promise<WorkOutcome> {
      runs += 1;
      if (!pauses.has('orders')) return done;
      await isResumed;
      return { kind: 'held', trigger: 'orders' };
    },
    onQueued: (trigger) => void pauses.onHeld(store, trigger),
  };
  await pauses.pause(store, 'orders');
  ({ dispatcher } = startInbox({ works: [work], store }));
  await store.append([newEvent(key, 'a')]);
  await until('the event is checked', () => runs === 1);
  await pauses.resume(store, 'orders');
  resolveCheck();
  await until('the event is done', async () => (await stateOf('a')) === 'done');
});

test('a trigger stays paused, in memory and in the store, if the resume cannot release its held events', async () => {
  const pauses = new Pauses();
  await pauses.pause(store, 'orders');
  const refusing: Store = Object.assign(Object.create(store), {
    release: () => Promise.reject(new Error('full')),
    delete: (...args: Parameters<Store['delete']>) => store.delete(...args),
  });
  await expect(pauses.resume(refusing, 'orders')).rejects.toThrow('full');
  expect([pauses.has('orders'), (await loadPauses()).has('orders')]).toEqual([true, true]);
  await pauses.resume(store, 'orders');
  expect([pauses.has('orders'), (await loadPauses()).has('orders')]).toEqual([false, false]);
});

test('a trigger is not paused, in memory or in the store, if the pause cannot be stored', async () => {
  const pauses = new Pauses();
  const refusing: Store = Object.assign(Object.create(store), {
    put: () => Promise.reject(new Error('full')),
  });
  await expect(pauses.pause(refusing, 'orders')).rejects.toThrow('full');
  expect([pauses.has('orders'), (await loadPauses()).has('orders')]).toEqual([false, false]);
});

test('the start of the gateway releases held events of unpaused triggers only', async () => {
  const pauses = new Pauses();
  await pauses.pause(store, 'orders');
  await store.append([newEvent(key, 'a'), newEvent('conversation/http/mails', 'b')]);
  for (const { key, fence, event } of await store.claim(2, 60_000)) {
    const heldBy = event.id === 'a' ? 'orders' : 'mails';
    await store.commit([{ key, fence, seq: event.seq, outcome: 'held', heldBy }]);
  }
  // The process crashed before it released the events that `mails` held.
  await loadPauses();
  expect([await stateOf('a'), await stateOf('b')]).toEqual(['held', 'queued']);
});

test('concurrent pauses and resumes of a trigger apply in order, in memory and in the store', async () => {
  const pauses = new Pauses();
  for (const last of ['pause', 'resume'] as const) {
    const first = last === 'pause' ? 'resume' : 'pause';
    await Promise.all([pauses[first](store, 'orders'), pauses[last](store, 'orders')]);
    const isPaused = last === 'pause';
    expect([pauses.has('orders'), (await loadPauses()).has('orders')]).toEqual([isPaused, isPaused]);
  }
});

test('a node follows pauses and resumes of other nodes, and releases events held in between', async () => {
  const [here, there] = [await loadPauses(), await loadPauses()];
  await there.pause(store, 'orders');
  expect(here.has('orders')).toBe(false);
  expect(await here.follow(store)).toEqual({ paused: ['orders'], resumed: [] });
  expect(here.has('orders')).toBe(true);
  expect(await here.follow(store)).toEqual({ paused: [], resumed: [] });

  await there.resume(store, 'orders');
  // The event is held on this node, which has not read the resume yet.
  await store.append([newEvent(key, 'late')]);
  const [turn] = await store.claim(1, 10_000);
  if (turn === undefined) throw new Error('expected a claim');
  const { fence, event } = turn;
  await store.commit([{ key, fence, seq: event.seq, outcome: 'held', heldBy: 'orders' }]);
  await here.onHeld(store, 'orders');
  expect(await stateOf('late')).toBe('held');

  const broken = {
    ...store,
    keys: (space: string) => store.keys(space),
    release: () => Promise.reject(new Error('away')),
  };
  await expect(here.follow(broken as unknown as Store)).rejects.toThrow('away');
  expect(here.has('orders')).toBe(true);
  expect(await here.follow(store)).toEqual({ paused: [], resumed: ['orders'] });
  expect(await stateOf('late')).toBe('queued');
  // A local resume is stored, even if other nodes have not read it yet.
  expect(await there.follow(store)).toEqual({ paused: [], resumed: [] });
});

test('a node reads the pauses once per change of the cluster members, without overlap, and repeats a failed read', async () => {
  const pauses = await loadPauses();
  let onMembers = () => {};
  const marks: unknown[] = [];
  let requestCount = 0;
  let fails = true;
  const slow = {
    keys: async (space: string) => {
      requestCount += 1;
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (fails) throw new Error('away');
      return store.keys(space);
    },
    release: (name: string) => store.release(name),
  } as unknown as Store;
  const follower = new PauseFollower(
    {
      watch: (watcher) => {
        onMembers = () => watcher.onMembers?.([]);
        return () => {
          onMembers = () => {};
        };
      },
    },
    { store: slow, pauses, log: silentLog, mark: (name, isPaused) => marks.push([name, isPaused]) },
  );
  await new Pauses().pause(store, 'orders');
  onMembers();
  onMembers();
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect([requestCount, marks]).toEqual([1, []]);
  fails = false;
  onMembers();
  await until('the trigger is marked', () => marks.length === 1);
  expect([requestCount, marks]).toEqual([2, [['orders', true]]]);
  follower.end();
  onMembers();
  expect(requestCount).toBe(2);
});
