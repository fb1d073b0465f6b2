// The bound of events that wait, where several nodes append to one database.

import { setTimeout as elapse } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { OverloadedError } from '../../../../../actors/base/errors/errors.ts';
import { openPostgresStore } from '../../../../../actors/store/postgres/open-postgres-store.ts';
import type { Store } from '../../../../../actors/store/store.ts';
import { newDatabase } from '../../../../fixtures/store/shared-postgres.ts';
import { eventOf } from '../../../../fixtures/store/store-conformance.ts';

const MAX_WAITING = 20;

async function openTwo(): Promise<{ one: Store; other: Store; end(): Promise<void> }> {
  const url = await newDatabase();
  const open = async (name: string) =>
    (await openPostgresStore({ url, maxWaiting: MAX_WAITING, node: { name, address: '' } })).store;
  const [one, other] = [await open('a'), await open('b')];
  return { one, other, end: async () => void (await Promise.all([one.close(), other.close()])) };
}

/** Many single appends at the same time. Gives how many were taken. */
async function appendMany(store: Store, of: string, count: number): Promise<number> {
  const calls = Array.from({ length: count }, (_, n) => store.append([eventOf(`${of}:${n}`, `${of}/${n}`)]));
  const answers = await Promise.allSettled(calls);
  for (const answer of answers)
    if (answer.status === 'rejected') expect(answer.reason).toBeInstanceOf(OverloadedError);
  return answers.filter(({ status }) => status === 'fulfilled').length;
}

test('near the bound nodes count one after the other, and take together what there is room for (PGR2)', async () => {
  const { one, other, end } = await openTwo();
  expect(await appendMany(one, 'a', 17)).toBe(17);
  const taken = await Promise.all([appendMany(one, 'a2', 10), appendMany(other, 'b', 10)]);
  expect(taken[0] + taken[1]).toBe(3);
  expect((await one.counts()).queued).toBe(MAX_WAITING);
  await end();
});

test('what another node has added is known a second later (PGR2)', async () => {
  const { one, other, end } = await openTwo();
  expect(await appendMany(other, 'b', 1)).toBe(1);
  // It does not know of these at first, and may take as many again.
  expect(await appendMany(one, 'a', 12)).toBe(12);
  await elapse(1_100);
  expect(await appendMany(other, 'b2', 10)).toBe(7);
  expect((await one.counts()).queued).toBe(MAX_WAITING);
  await end();
});
