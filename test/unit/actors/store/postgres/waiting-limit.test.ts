// Limit of waiting events, with several nodes on a database.

import { setTimeout as elapse } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { OverloadedError } from '../../../../../actors/base/errors/errors.ts';
import { openPostgresStore } from '../../../../../actors/store/postgres/open-postgres-store.ts';
import type { Store } from '../../../../../actors/store/store.ts';
import { newDatabase } from '../../../../fixtures/store/shared-postgres.ts';
import { eventOf } from '../../../../fixtures/store/store-conformance.ts';

const MAX_WAITING = 40;
/** Share of a single trigger, which has many conversations. */
const MOST_OF_TRIGGER = 20;

async function openTwoStores(): Promise<{ one: Store; other: Store; end(): Promise<void> }> {
  const url = await newDatabase();
  const open = async (name: string) =>
    (await openPostgresStore({ url, maxWaiting: MAX_WAITING, node: { name, address: '' } })).store;
  const [one, other] = [await open('a'), await open('b')];
  return { one, other, end: async () => void (await Promise.all([one.close(), other.close()])) };
}

/** Appends single events of one trigger concurrently. Returns the number of accepted events. */
async function appendMany(store: Store, of: string, count: number): Promise<number> {
  const calls = Array.from({ length: count }, (_, n) =>
    store.append([eventOf(`x:one/${of}${n}`, `k/${of}${n}`)]),
  );
  const answers = await Promise.allSettled(calls);
  for (const answer of answers)
    if (answer.status === 'rejected') expect(answer.reason).toBeInstanceOf(OverloadedError);
  return answers.filter(({ status }) => status === 'fulfilled').length;
}

test('cluster nodes that append events concurrently never exceed the share of a trigger, and use it fully', async () => {
  const { one, other, end } = await openTwoStores();
  expect(await appendMany(one, 'a', 17)).toBe(17);
  const accepted = await Promise.all([appendMany(one, 'a2', 10), appendMany(other, 'b', 10)]);
  expect(accepted[0] + accepted[1]).toBe(3);
  expect((await one.counts()).queued).toBe(MOST_OF_TRIGGER);
  await end();
});

test('a node counts waiting events of other nodes one second later', async () => {
  const { one, other, end } = await openTwoStores();
  expect(await appendMany(other, 'b', 1)).toBe(1);
  // This node has not counted the events of the other node yet, and may accept the same number.
  expect(await appendMany(one, 'a', 12)).toBe(12);
  await elapse(1_100);
  expect(await appendMany(other, 'b2', 10)).toBe(7);
  expect((await one.counts()).queued).toBe(MOST_OF_TRIGGER);
  await end();
});
