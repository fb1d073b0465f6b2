import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PauseFollower } from '../../../../../actors/automation/triggers/pause-follower.ts';
import { Pauses } from '../../../../../actors/automation/triggers/pauses.ts';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import type { Dispatcher } from '../../../../../actors/events/inbox/dispatcher.ts';
import type { Outcome, Work } from '../../../../../actors/events/inbox/work.ts';
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
const loaded = async () => {
  const pauses = new Pauses();
  await pauses.load(store);
  return pauses;
};

test('an event that was judged before its trigger was resumed, and held after that, is let go (PZ2)', async () => {
  const pauses = new Pauses();
  let judged = () => {};
  const isResumed = new Promise<void>((resolve) => {
    judged = resolve;
  });
  let runs = 0;
  const work: Work = {
    prefix: 'conversation/',
    timeoutMs: () => 10_000,
    async perform(): Promise<Outcome> {
      runs += 1;
      if (!pauses.has('orders')) return done;
      await isResumed;
      return { kind: 'held', trigger: 'orders' };
    },
    onHeld: (trigger) => void pauses.onHeld(store, trigger),
  };
  await pauses.pause(store, 'orders');
  ({ dispatcher } = startInbox({ works: [work], store }));
  await store.append([newEvent(key, 'a')]);
  await until('it is judged', () => runs === 1);
  await pauses.resume(store, 'orders');
  judged();
  await until('it is done', async () => (await stateOf('a')) === 'done');
});

test('a trigger stays paused, here and in the store, when what it holds cannot be let go', async () => {
  const pauses = new Pauses();
  await pauses.pause(store, 'orders');
  const refusing: Store = Object.assign(Object.create(store), {
    release: () => Promise.reject(new Error('full')),
    delete: (...args: Parameters<Store['delete']>) => store.delete(...args),
  });
  await expect(pauses.resume(refusing, 'orders')).rejects.toThrow('full');
  expect([pauses.has('orders'), (await loaded()).has('orders')]).toEqual([true, true]);
  await pauses.resume(store, 'orders');
  expect([pauses.has('orders'), (await loaded()).has('orders')]).toEqual([false, false]);
});

test('a trigger is not paused, here nor in the store, when that cannot be written', async () => {
  const pauses = new Pauses();
  const refusing: Store = Object.assign(Object.create(store), {
    put: () => Promise.reject(new Error('full')),
  });
  await expect(pauses.pause(refusing, 'orders')).rejects.toThrow('full');
  expect([pauses.has('orders'), (await loaded()).has('orders')]).toEqual([false, false]);
});

test('what is held by a trigger that is not paused is let go at the start, and by no other (PZ2)', async () => {
  const pauses = new Pauses();
  await pauses.pause(store, 'orders');
  await store.append([newEvent(key, 'a'), newEvent('conversation/http/mails', 'b')]);
  for (const { key, fence, event } of await store.claim(2, 60_000)) {
    const heldBy = event.id === 'a' ? 'orders' : 'mails';
    await store.commit([{ key, fence, seq: event.seq, outcome: 'held', heldBy }]);
  }
  // The process ended before it could let go what was held by mails.
  await loaded();
  expect([await stateOf('a'), await stateOf('b')]).toEqual(['held', 'queued']);
});

test('changes that are asked for together come in their order, in memory as in the store (PZ1)', async () => {
  const pauses = new Pauses();
  for (const last of ['pause', 'resume'] as const) {
    const first = last === 'pause' ? 'resume' : 'pause';
    await Promise.all([pauses[first](store, 'orders'), pauses[last](store, 'orders')]);
    const isPaused = last === 'pause';
    expect([pauses.has('orders'), (await loaded()).has('orders')]).toEqual([isPaused, isPaused]);
  }
});

test('what another node has paused or resumed holds here once it was read, and what was held meanwhile is let go (PZ3)', async () => {
  const [here, there] = [await loaded(), await loaded()];
  await there.pause(store, 'orders');
  expect(here.has('orders')).toBe(false);
  expect(await here.follow(store)).toEqual({ paused: ['orders'], resumed: [] });
  expect(here.has('orders')).toBe(true);
  expect(await here.follow(store)).toEqual({ paused: [], resumed: [] });

  await there.resume(store, 'orders');
  // Judged here by what this node still knows.
  await store.append([newEvent(key, 'late')]);
  const [turn] = await store.claim(1, 10_000);
  if (turn === undefined) throw new Error('nothing to claim');
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
  // A resumption that nobody else has heard of yet is the store's word too.
  expect(await there.follow(store)).toEqual({ paused: [], resumed: [] });
});

test('the store is asked with each reading of the members, one question at a time, and again after one that failed (PFW1)', async () => {
  const pauses = await loaded();
  let onMembers = () => {};
  const marks: unknown[] = [];
  let asked = 0;
  let fails = true;
  const slow = {
    keys: async (space: string) => {
      asked += 1;
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
  expect([asked, marks]).toEqual([1, []]);
  fails = false;
  onMembers();
  await until('it is marked', () => marks.length === 1);
  expect([asked, marks]).toEqual([2, [['orders', true]]]);
  follower.end();
  onMembers();
  expect(asked).toBe(2);
});
