// State of removed schedules in the real store: kept unchanged for a period, then deleted.

import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
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
/** Returns noon on a January day. */
const noonOf = (day: number) => Date.UTC(2026, 0, day, 12);

interface Run {
  /** True if the trigger opens. */
  readonly opens?: boolean;
  /** True if the trigger is configured when unused state is deleted. */
  readonly isConfigured: boolean;
  readonly isChecked?: boolean;
}

/** Gateway with a daily schedule, which runs only at noon of the given days. */
function gateway() {
  const file = join(scratch, `store-${++files}.db`);
  /** Returns the days with a stored instant, and whether the store contains other state of the schedule. */
  return async (day: number, { isConfigured, opens = isConfigured, isChecked = true }: Run) => {
    const store = await openSqliteStore({ file, workerUrl: storeWorkerUrl(), retentionMs: 365 * DAY_MS });
    const { log, accept, waitUntilSettled, discard, undeliver, listen, connections } = new TestSourceHost();
    const adapter = scheduleAdapter({ now: () => noonOf(day) });
    const trigger = scheduleTrigger('nightly', { cron: '0 0 * * *', catchup: 'all' });
    const open = opens
      ? await adapter.open(trigger, {
          store,
          log,
          accept,
          waitUntilSettled,
          discard,
          undeliver,
          listen,
          connections,
        })
      : undefined;
    const days = await daysIn(store);
    await open?.close();
    if (isChecked) await adapter.deleteUnusedState?.(store, () => isConfigured, KEEP_DAYS * DAY_MS);
    const hasState =
      (await store.keys('schedule')).length > 0 || (await store.lastTick('schedule/nightly')) !== undefined;
    await store.close();
    return { days, hasState };
  };
}

async function daysIn(store: Store): Promise<readonly number[]> {
  const storedDays = async () => {
    const deliveries = await store.deliveries({ limit: 1_000, idPrefix: 'schedule:nightly:' });
    return deliveries.map(({ id }) => Number(id.slice('schedule:nightly:2026-01-'.length).slice(0, 2)));
  };
  // The store processes calls in order. A schedule writes its next instant right after a response.
  // Two equal reads in different turns mean that all writes are done.
  let all = await storedDays();
  for (let before = -1; before !== all.length; ) {
    before = all.length;
    await nextTurn();
    all = await storedDays();
  }
  return all.reverse();
}

const configured = { isConfigured: true };
const removed = { isConfigured: false };

test('the state of a removed schedule is deleted after a period; if the schedule returns later, it starts as new', async () => {
  const runOn = gateway();
  await runOn(1, configured);
  expect(await runOn(3, configured)).toEqual({ days: [2, 3], hasState: true });
  expect(await runOn(4, removed)).toMatchObject({ hasState: true });
  expect(await runOn(10, removed)).toMatchObject({ hasState: true });
  expect(await runOn(11, removed)).toMatchObject({ hasState: false });
  expect(await runOn(20, configured)).toEqual({ days: [2, 3], hasState: true });
  expect(await runOn(21, configured)).toEqual({ days: [2, 3, 21], hasState: true });
});

test('a schedule that returns within the period catches up on the instants missed since its removal', async () => {
  const runOn = gateway();
  await runOn(1, configured);
  await runOn(2, removed);
  await runOn(8, removed);
  expect(await runOn(9, configured)).toEqual({ days: [2, 3, 4, 5, 6, 7, 8, 9], hasState: true });
});

test.each([
  ['an opening that no check has seen', { isConfigured: true, isChecked: false }],
  ['a check that finds it disabled', { isConfigured: true, opens: false }],
])('%s restarts the period after which a removed schedule is deleted', async (_, visit) => {
  const runOn = gateway();
  await runOn(1, configured);
  await runOn(2, removed);
  await runOn(8, visit);
  expect(await runOn(9, removed)).toMatchObject({ hasState: true });
  expect(await runOn(15, removed)).toMatchObject({ hasState: true });
  expect(await runOn(16, removed)).toMatchObject({ hasState: false });
});

test('downtime of the gateway does not count towards the period after which a schedule is deleted', async () => {
  const runOn = gateway();
  await runOn(1, configured);
  expect(await runOn(28, removed)).toMatchObject({ hasState: true });
  expect(await runOn(29, configured)).toMatchObject({
    days: expect.arrayContaining([2, 28, 29]),
    hasState: true,
  });
});

test('a wrong clock at the first check does not extend the period after which a schedule is deleted', async () => {
  const runOn = gateway();
  await runOn(1, configured);
  await runOn(300, removed);
  await runOn(2, removed);
  expect(await runOn(8, removed)).toMatchObject({ hasState: true });
  expect(await runOn(9, removed)).toMatchObject({ hasState: false });
});
