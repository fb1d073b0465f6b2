// Event tallies of several processes on a shared store, with simulated membership.

import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { AgentCounters } from '../../../../../actors/agents/runs/agent-counters.ts';
import { ClusterTallies } from '../../../../../actors/automation/tallies/cluster-tallies.ts';
import {
  noTallies,
  publishTallies,
  readTallies,
  sumOf,
} from '../../../../../actors/automation/tallies/tallies.ts';
import { TriggerCounters, type TriggerCounts } from '../../../../../actors/automation/triggers/counters.ts';
import type { Member, MembershipWatcher } from '../../../../../actors/store/membership.ts';
import type { Store } from '../../../../../actors/store/store.ts';
import { openEngineStore, storeFolder } from '../../../../fixtures/store/engine-store.ts';

const folder = storeFolder();
let count = 0;

/** Creates processes. The names in `members` are cluster members. */
function cluster() {
  const { store } = openEngineStore({ file: join(folder, `${++count}.sqlite`) });
  const processes = new Map<string, { about: Record<string, unknown>; watcher: MembershipWatcher }>();
  const members = new Set<string>();
  const readCurrent = async () => {
    const all: Member[] = [...members].map((instance, epoch) => ({
      epoch,
      name: instance,
      address: '',
      about: structuredClone({ instance, ...processes.get(instance)?.about }),
    }));
    for (const instance of members) processes.get(instance)?.watcher.onMembers?.(all);
    await elapse(30);
  };
  const start = (instance: string, of: Pick<Store, 'get' | 'put'> = store) => {
    const triggers: TriggerCounters = new TriggerCounters((name, own) => tallies.sumOfTrigger(name, own));
    const targets: AgentCounters = new AgentCounters((whom, own) => tallies.sumOfTarget(whom, own));
    const about: Record<string, unknown> = {};
    const tallies = new ClusterTallies({
      membership: {
        watch: (watcher) => {
          processes.set(instance, { about, watcher });
          return () => processes.delete(instance);
        },
        publish: (name, value) => {
          about[name] = value;
        },
        publishNow: async () => {},
      },
      store: of,
      instance,
      redact: (text: string) => text.replace('hush', '***'),
      own: () => ({ triggers: triggers.own, targets: targets.own }),
      revision: () => triggers.revision + targets.revision,
    });
    members.add(instance);
    return { triggers, targets, tallies, handled: () => triggers.of('orders').handled };
  };
  return { store, start, members, readCurrent };
}

const handle = ({ triggers }: { readonly triggers: TriggerCounters }, times: number) => {
  for (let each = 0; each < times; each += 1) triggers.count('orders', 'done');
};

test('the cluster total includes the counters of a process once: as a member, after it left, and after it returned', async () => {
  const { store, start, members, readCurrent } = cluster();
  const [a, b, c] = [start('a'), start('b'), start('c')];
  handle(a, 1);
  handle(b, 10);
  handle(c, 100);
  b.triggers.countRefused('orders', { reason: 'wrong', text: 'no hush' });
  b.targets.begin({ kind: 'agent', name: 'desk' });
  const all = () => [a, b, c].map((each) => each.handled());
  await readCurrent();
  await readCurrent();
  expect(all()).toEqual([111, 111, 111]);
  expect(a.triggers.of('orders').refused).toMatchObject({ count: 1, reason: 'wrong', text: 'no ***' });
  expect(a.targets.of({ kind: 'agent', name: 'desk' }).running).toBe(1);

  // Both remaining processes remove b concurrently.
  members.delete('b');
  await readCurrent();
  expect([a.handled(), c.handled()]).toEqual([111, 111]);
  expect(a.targets.of({ kind: 'agent', name: 'desk' }).running).toBe(0);
  const late = start('late');
  await readCurrent();
  expect(late.handled()).toBe(111);

  // b was only suspended, and joins again.
  members.add('b');
  handle(b, 10);
  await readCurrent();
  await readCurrent();
  expect([...all(), late.handled()]).toEqual([121, 121, 121, 121]);
  members.delete('b');
  await readCurrent();
  await readCurrent();
  expect([a.handled(), c.handled(), late.handled()]).toEqual([121, 121, 121]);

  // During shutdown a process stores the tallies before its exit.
  handle(c, 1);
  await c.tallies.end();
  members.delete('c');
  await readCurrent();
  expect([a.handled(), late.handled()]).toEqual([122, 122]);
  await store.close();
});

test('counters of several processes that are stored concurrently are all kept, also after a store outage', async () => {
  const { store, start, members, readCurrent } = cluster();
  const watching = Array.from({ length: 4 }, (_, at) => start(`w${at}`));
  for (let at = 0; at < 6; at += 1) handle(start(`d${at}`), 10 ** at);
  await readCurrent();
  await readCurrent();
  for (let at = 0; at < 6; at += 1) members.delete(`d${at}`);
  await readCurrent();
  await elapse(100);
  expect(watching.map((each) => each.handled())).toEqual([111_111, 111_111, 111_111, 111_111]);
  const fresh = start('fresh');
  await elapse(30);
  expect(fresh.handled()).toBe(111_111);

  let isAway = true;
  const absentNode = {
    get: (space: string, key: string) => (isAway ? Promise.reject(new Error('away')) : store.get(space, key)),
    put: store.put.bind(store),
  };
  const lonely = start('lonely', absentNode);
  handle(start('gone'), 1_000_000);
  await readCurrent();
  await readCurrent();
  for (const each of ['w0', 'w1', 'w2', 'w3', 'fresh', 'gone']) members.delete(each);
  await readCurrent();
  expect(lonely.handled()).toBe(1_000_000);
  isAway = false;
  await readCurrent();
  await readCurrent();
  expect(lonely.handled()).toBe(1_111_111);
  await store.close();
});

test('stored counters of stopped processes are bounded in number and remain complete in sum', async () => {
  const { store, start, members, readCurrent } = cluster();
  const watching = start('w');
  for (let at = 0; at < 40; at += 1) {
    handle(start(`d${at}`), 1);
    await readCurrent();
    await readCurrent();
    members.delete(`d${at}`);
    await readCurrent();
  }
  expect(watching.handled()).toBe(40);
  const { value = '' } = (await store.get('tallies', 'ended')) ?? {};
  expect((JSON.parse(value) as { processes: unknown[] }).processes.length).toBeLessThanOrEqual(8);
  await store.close();
});

test('published counters are bounded in bytes, and malformed counters are read as far as possible', () => {
  const counts = { handled: 1, failed: 2, refused: undefined, duplicates: undefined };
  const many = new Map(
    Array.from({ length: 5_000 }, (_, at) => [`trigger-${at}`, { ...counts, lastAt: at + 1 }] as const),
  );
  const published = publishTallies({ ...noTallies, triggers: many }, (text) => text);
  expect(Buffer.byteLength(JSON.stringify(published))).toBeLessThan(40_000);
  // Contains the most recently active triggers.
  expect(published.triggers['trigger-4999']).toEqual([1, 2, 5_000]);
  expect(published.triggers['trigger-0']).toBeUndefined();

  for (const strange of [
    undefined,
    null,
    7,
    'x',
    [],
    { triggers: 7, targets: [1] },
    { triggers: { a: 'b' } },
  ])
    expect([...readTallies(strange).triggers.keys()]).toEqual([]);
  const { triggers } = sumOf([
    readTallies({ triggers: { a: [1, 'x', null, 3, 9, 'unheard of', 4], b: [1] } }),
    readTallies({ triggers: { a: [1, 1, 5, 3, 9, 'wrong', 'no'] }, targets: { 'agent x': [1] } }),
  ]);
  expect(triggers.get('a')).toEqual({
    handled: 2,
    failed: 1,
    lastAt: 5,
    refused: { count: 3, at: 9, reason: 'wrong', text: 'no' },
    duplicates: undefined,
  });
});

test('published counters contain duplicates, with and without refused requests', () => {
  const counts = {
    handled: 1,
    failed: 0,
    lastAt: 5,
    refused: undefined,
    duplicates: { count: 2, at: 7, id: 'x/1' },
  };
  const refused = { count: 3, at: 9, reason: 'wrong', text: 'no' } as const;
  const triggers = new Map<string, TriggerCounts>([
    ['a', counts],
    ['b', { ...counts, refused }],
  ]);
  const read = readTallies(publishTallies({ ...noTallies, triggers }, (text) => text));
  expect(read.triggers).toEqual(triggers);
  expect(sumOf([read, read]).triggers.get('b')).toMatchObject({
    refused: { count: 6 },
    duplicates: { count: 4, id: 'x/1' },
  });
});
