// Claims of a node that has lost cluster membership: runs are aborted and no run starts, even if the node
// detects the loss late.

import { afterEach, expect, test } from 'vitest';
import { currentClaimEpoch } from '../../../../../actors/events/inbox/claim-epoch.ts';
import type { Assignment } from '../../../../../actors/events/inbox/work.ts';
import { done, FakeWork, newEvent, startInbox, until } from '../../../../fixtures/automation/inbox.ts';
import { FakeCluster } from '../../../../fixtures/cluster/fake-cluster.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';

const running: { drain(graceMs: number): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((dispatcher) => dispatcher.drain(200)));
});

/** Shared store with delayed responses to claims. */
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

test('a node that loses its cluster membership first aborts its runs, whose outcomes are discarded', async () => {
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

test('a node claims no events while it is not a member, and claims again after it has rejoined', async () => {
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

test('a claim that arrives after the end of its membership starts no run, even if the node has rejoined', async () => {
  let answer = (): void => {};
  const work = new FakeWork(async () => done);
  const store = new SharedStore();
  await store.append([newEvent('conversation/a', 'one')]);
  const pending = new Promise<void>((resolve) => {
    answer = resolve;
  });
  store.beforeAnswer = pending;
  inbox(work, store);
  await until('it claims', () => store.claims === 1);
  // After a process suspension the timers of the membership have not fired yet.
  store.node.isOverdue = true;
  answer();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(work.runs).toEqual([]);

  const second = currentClaimEpoch(store.node);
  expect(second.isOver).toBe(true);
  store.node.enter();
  expect([second.isOver, currentClaimEpoch(store.node).isOver]).toEqual([true, false]);
});

test('the next event under a claim does not start if the membership has ended since the claim', async () => {
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

test('a claim of a gateway without a cluster never ends because of lost membership', () => {
  expect(currentClaimEpoch(undefined).isOver).toBe(false);
});
