// What is left in the real store of schedules that are gone: for a while everything, as if they had been there all along;
// after that nothing.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scheduleAdapter } from '../../../../actors/platforms/schedule/adapter.ts';
import type { Store } from '../../../../actors/store/store.ts';
import { openSqliteStore } from '../../../../actors/store/worker/sqlite-store.ts';
import { TestSourceHost } from '../../../fixtures/automation/source-host.ts';
import { scheduleTrigger } from '../../../fixtures/automation/triggers.ts';
import { newFolder } from '../../../fixtures/new-folder.ts';
import { storeWorkerUrl } from '../../../fixtures/store/store-worker.ts';

const scratch = newFolder('schedule-gone-');
let files = 0;

const DAY_MS = 86_400_000;
const KEEP_DAYS = 7;
/** At noon of a day in January. */
const noonOf = (day: number) => Date.UTC(2026, 0, day, 12);

interface Visit {
  /** Is opened. */
  readonly opens?: boolean;
  /** Is among the files; for the look that sweeps. */
  readonly isThere: boolean;
  readonly looks?: boolean;
}

/** A gateway with a schedule of every midnight, that runs only at the noons that are named. */
function gateway() {
  const file = join(scratch, `store-${++files}.db`);
  /** Gives the days of which an instant is in the store, and whether anything else of the schedule is. */
  return async (day: number, { isThere, opens = isThere, looks = true }: Visit) => {
    const store = await openSqliteStore({ file, workerUrl: storeWorkerUrl(), retentionMs: 365 * DAY_MS });
    const { log, accept, settled, discard, undeliver, listen, connections } = new TestSourceHost();
    const adapter = scheduleAdapter({ now: () => noonOf(day) });
    const trigger = scheduleTrigger('nightly', { cron: '0 0 * * *', catchup: 'all' });
    const open = opens
      ? await adapter.open(trigger, { store, log, accept, settled, discard, undeliver, listen, connections })
      : undefined;
    const days = await daysIn(store);
    await open?.close();
    if (looks) await adapter.tidy?.(store, () => isThere, KEEP_DAYS * DAY_MS);
    const isKnown =
      (await store.keys('schedule')).length > 0 || (await store.lastTick('schedule/nightly')) !== undefined;
    await store.close();
    return { days, isKnown };
  };
}

async function daysIn(store: Store): Promise<readonly number[]> {
  const found = async () => {
    const deliveries = await store.deliveries({ limit: 1_000, idPrefix: 'schedule:nightly:' });
    return deliveries.map(({ id }) => Number(id.slice('schedule:nightly:2026-01-'.length).slice(0, 2)));
  };
  // One is written after the other, and the store answers in order: when two looks see the same, all are written.
  let all = await found();
  for (let before = -1; before !== all.length; ) {
    before = all.length;
    all = await found();
  }
  return all.reverse();
}

const there = { isThere: true };
const away = { isThere: false };

test('it is forgotten when it has been gone for the whole time, and is new if it comes again (GP2)', async () => {
  const runOn = gateway();
  await runOn(1, there);
  expect(await runOn(3, there)).toEqual({ days: [2, 3], isKnown: true });
  expect(await runOn(4, away)).toMatchObject({ isKnown: true });
  expect(await runOn(10, away)).toMatchObject({ isKnown: true });
  expect(await runOn(11, away)).toMatchObject({ isKnown: false });
  expect(await runOn(20, there)).toEqual({ days: [2, 3], isKnown: true });
  expect(await runOn(21, there)).toEqual({ days: [2, 3, 21], isKnown: true });
});

test('one that was away for less has missed what came meanwhile', async () => {
  const runOn = gateway();
  await runOn(1, there);
  await runOn(2, away);
  await runOn(8, away);
  expect(await runOn(9, there)).toEqual({ days: [2, 3, 4, 5, 6, 7, 8, 9], isKnown: true });
});

test.each([
  ['an opening that no look has seen', { isThere: true, looks: false }],
  ['a look that finds it switched off', { isThere: true, opens: false }],
])('%s begins the time anew', async (_, visit) => {
  const runOn = gateway();
  await runOn(1, there);
  await runOn(2, away);
  await runOn(8, visit);
  expect(await runOn(9, away)).toMatchObject({ isKnown: true });
  expect(await runOn(15, away)).toMatchObject({ isKnown: true });
  expect(await runOn(16, away)).toMatchObject({ isKnown: false });
});

test('while no gateway runs it is not gone (GP1)', async () => {
  const runOn = gateway();
  await runOn(1, there);
  expect(await runOn(28, away)).toMatchObject({ isKnown: true });
  expect(await runOn(29, there)).toMatchObject({ days: expect.arrayContaining([2, 28, 29]), isKnown: true });
});

test('a clock that was wrong when it was seen to be gone keeps it no longer', async () => {
  const runOn = gateway();
  await runOn(1, there);
  await runOn(300, away);
  await runOn(2, away);
  expect(await runOn(8, away)).toMatchObject({ isKnown: true });
  expect(await runOn(9, away)).toMatchObject({ isKnown: false });
});
