// What a node has claimed, when it is no member any more: what runs is cut, and nothing is begun, however late it comes to know of it.

import { afterEach, expect, test } from 'vitest';
import { presentTenure } from '../../../../../actors/events/inbox/tenure.ts';
import type { Assignment } from '../../../../../actors/events/inbox/work.ts';
import { done, FakeWork, newEvent, startInbox, until } from '../../../../fixtures/automation/inbox.ts';
import { FakeCluster } from '../../../../fixtures/cluster/fake-cluster.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';

const running: { drain(graceMs: number): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((dispatcher) => dispatcher.drain(200)));
});

/** A store that others work on, whose answers to claims may be held back. */
class SharedStore extends MemoryStore {
  readonly node;
  readonly cluster;
  claims = 0;
  beforeAnswer: Promise<void> = Promise.resolve();

  constructor() {
    super();
    const { node, cluster } = new FakeCluster().join();
    this.node = node;
    this.cluster = cluster;
  }

  override async claim(max: number, leaseMs: number, keyPrefix?: string) {
    this.claims += 1;
    const turns = await super.claim(max, leaseMs, keyPrefix);
    await this.beforeAnswer;
    return turns;
  }
}

function inbox(work: FakeWork, store = new SharedStore()) {
  const { dispatcher } = startInbox({ works: [work], store, pollMs: 20, tickMs: 10 });
  running.push(dispatcher);
  return { store, dispatcher, append: (id: string) => store.append([newEvent('conversation/a', id)]) };
}

test('what runs is told to end before the loss of the membership has been told, and its outcome is not taken (DI6)', async () => {
  const signals: AbortSignal[] = [];
  const work = new FakeWork(({ signal }: Assignment) => {
    signals.push(signal);
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve(done), { once: true }));
  });
  const { store, append } = inbox(work);
  await append('one');
  await until('it runs', () => signals.length === 1);
  store.node.lose();
  expect(signals[0]?.aborted).toBe(true);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect((await store.delivery('one'))?.state).toBe('running');
});

test('nothing is claimed while the node is no member, and goes on when it is one again (DI6)', async () => {
  const work = new FakeWork(async () => done);
  const { store, dispatcher, append } = inbox(work);
  store.node.lose();
  const { claims } = store;
  await append('one');
  await dispatcher.accept(newEvent('conversation/b', 'two'));
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect([store.claims, work.runs]).toEqual([claims, []]);
  store.node.enter();
  await until('both have run', () => work.runs.length === 2);
});

test('a claim whose answer comes after the end of the membership begins nothing, even when there is a new one (TEN1)', async () => {
  let answer = (): void => {};
  const work = new FakeWork(async () => done);
  const store = new SharedStore();
  await store.append([newEvent('conversation/a', 'one')]);
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  store.beforeAnswer = held;
  inbox(work, store);
  await until('it claims', () => store.claims === 1);
  // The process stood still: no timer of its membership has run yet.
  store.node.isOverdue = true;
  answer();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(work.runs).toEqual([]);

  const second = presentTenure(store.node);
  expect(second.isOver).toBe(true);
  store.node.enter();
  expect([second.isOver, presentTenure(store.node).isOver]).toEqual([true, false]);
});

test('the next event under a claim is not begun when the membership has ended in between (TEN1)', async () => {
  const store = new SharedStore();
  const work = new FakeWork(async ({ event }) => {
    if (event.id === 'one') store.node.isOverdue = true;
    return done;
  });
  await store.append([newEvent('conversation/a', 'one'), newEvent('conversation/a', 'two')]);
  inbox(work, store);
  await until('the first is committed', async () => (await store.delivery('one'))?.state === 'done');
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(work.runs.map(({ id }) => id)).toEqual(['one']);
});

test('without other nodes what is claimed has no such end', () => {
  expect(presentTenure(undefined).isOver).toBe(false);
});
