// The tallies of several processes on one store, with members as a test has them.

import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { AgentCounters } from '../../../../../actors/agents/runs/agent-counters.ts';
import { ClusterTallies } from '../../../../../actors/automation/tallies/cluster-tallies.ts';
import {
  noTallies,
  readTallies,
  sumOf,
  toldTallies,
} from '../../../../../actors/automation/tallies/tallies.ts';
import { TriggerCounters } from '../../../../../actors/automation/triggers/trigger-counters.ts';
import type { Member, MembershipWatcher } from '../../../../../actors/store/membership.ts';
import type { Store } from '../../../../../actors/store/store.ts';
import { openEngineStore, storeFolder } from '../../../../fixtures/store/engine-store.ts';

const folder = storeFolder();
let count = 0;

/** Processes that are members as long as they are in `members`. */
function cluster() {
  const { store } = openEngineStore({ file: join(folder, `${++count}.sqlite`) });
  const processes = new Map<string, { about: Record<string, unknown>; watcher: MembershipWatcher }>();
  const members = new Set<string>();
  const read = async () => {
    const all: Member[] = [...members].map((instance, epoch) => ({
      ...{ epoch, name: instance, address: '' },
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
        tell: (name, value) => {
          about[name] = value;
        },
        tellNow: async () => {},
      },
      ...{ store: of, instance, redact: (text: string) => text.replace('hush', '***') },
      own: () => ({ triggers: triggers.own, targets: targets.own }),
      revision: () => triggers.revision + targets.revision,
    });
    members.add(instance);
    return { triggers, targets, tallies, handled: () => triggers.of('orders').handled };
  };
  return { store, start, members, read };
}

const handle = ({ triggers }: { readonly triggers: TriggerCounters }, times: number) => {
  for (let each = 0; each < times; each += 1) triggers.count('orders', 'done');
};

test('a process counts once, while it is a member, after that, and when it comes back (CTY1)', async () => {
  const { store, start, members, read } = cluster();
  const [a, b, c] = [start('a'), start('b'), start('c')];
  handle(a, 1);
  handle(b, 10);
  handle(c, 100);
  b.triggers.countRefused('orders', { reason: 'wrong', text: 'no hush' });
  b.targets.begin({ kind: 'agent', name: 'desk' });
  const all = () => [a, b, c].map((each) => each.handled());
  await read();
  await read();
  expect(all()).toEqual([111, 111, 111]);
  expect(a.triggers.of('orders').refused).toMatchObject({ count: 1, reason: 'wrong', text: 'no ***' });
  expect(a.targets.of({ kind: 'agent', name: 'desk' }).running).toBe(1);

  // Given up by both others at the same moment.
  members.delete('b');
  await read();
  expect([a.handled(), c.handled()]).toEqual([111, 111]);
  expect(a.targets.of({ kind: 'agent', name: 'desk' }).running).toBe(0);
  const late = start('late');
  await read();
  expect(late.handled()).toBe(111);

  // It was only stopped for a while.
  members.add('b');
  handle(b, 10);
  await read();
  await read();
  expect([...all(), late.handled()]).toEqual([121, 121, 121, 121]);
  members.delete('b');
  await read();
  await read();
  expect([a.handled(), c.handled(), late.handled()]).toEqual([121, 121, 121]);

  // One that ends in order has all of it kept before it is gone.
  handle(c, 1);
  await c.tallies.end();
  members.delete('c');
  await read();
  expect([a.handled(), late.handled()]).toEqual([122, 122]);
  await store.close();
});

test('what several keep at the same moment is all there, also when a store was away (CTY2)', async () => {
  const { store, start, members, read } = cluster();
  const watching = Array.from({ length: 4 }, (_, at) => start(`w${at}`));
  for (let at = 0; at < 6; at += 1) handle(start(`d${at}`), 10 ** at);
  await read();
  await read();
  for (let at = 0; at < 6; at += 1) members.delete(`d${at}`);
  await read();
  await elapse(100);
  expect(watching.map((each) => each.handled())).toEqual([111_111, 111_111, 111_111, 111_111]);
  const fresh = start('fresh');
  await elapse(30);
  expect(fresh.handled()).toBe(111_111);

  let isAway = true;
  const away = {
    get: (space: string, key: string) => (isAway ? Promise.reject(new Error('away')) : store.get(space, key)),
    put: store.put.bind(store),
  };
  const lonely = start('lonely', away);
  handle(start('gone'), 1_000_000);
  await read();
  await read();
  for (const each of ['w0', 'w1', 'w2', 'w3', 'fresh', 'gone']) members.delete(each);
  await read();
  expect(lonely.handled()).toBe(1_000_000);
  isAway = false;
  await read();
  await read();
  expect(lonely.handled()).toBe(1_111_111);
  await store.close();
});

test('what is kept is bounded, and nothing of it is lost (CTY3)', async () => {
  const { store, start, members, read } = cluster();
  const watching = start('w');
  for (let at = 0; at < 40; at += 1) {
    handle(start(`d${at}`), 1);
    await read();
    await read();
    members.delete(`d${at}`);
    await read();
  }
  expect(watching.handled()).toBe(40);
  const { value = '' } = (await store.get('tallies', 'ended')) ?? {};
  expect((JSON.parse(value) as { processes: unknown[] }).processes.length).toBeLessThanOrEqual(8);
  await store.close();
});

test('what is told is bounded in bytes, and of another form is read as far as it is understood (TLY1, TLY2)', () => {
  const counts = { handled: 1, failed: 2, refused: undefined };
  const many = new Map(
    Array.from({ length: 5_000 }, (_, at) => [`trigger-${at}`, { ...counts, lastAt: at + 1 }] as const),
  );
  const told = toldTallies({ ...noTallies, triggers: many }, (text) => text);
  expect(Buffer.byteLength(JSON.stringify(told))).toBeLessThan(40_000);
  // Those that were busy last.
  expect(told.triggers['trigger-4999']).toEqual([1, 2, 5_000]);
  expect(told.triggers['trigger-0']).toBeUndefined();

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
    ...{ handled: 2, failed: 1, lastAt: 5 },
    refused: { count: 3, at: 9, reason: 'wrong', text: 'no' },
  });
});
