// Missed instants of a schedule are counted from the first load, also across restarts, in the real store.

import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { scheduleAdapter } from '../../../../actors/platforms/schedule/adapter.ts';
import { openSqliteStore } from '../../../../actors/store/worker/sqlite-store.ts';
import type { ScheduleTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { TestSourceHost } from '../../../fixtures/automation/source-host.ts';
import { scheduleTrigger } from '../../../fixtures/automation/triggers.ts';
import { newFolder } from '../../../fixtures/new-folder.ts';
import { storeWorkerUrl } from '../../../fixtures/store/store-worker.ts';

const scratch = newFolder('schedule-');
let files = 0;

const at = (time: string) => Date.parse(`2026-11-21T${time}:00.000Z`);

/** Gateway that runs only at the given times: the trigger opens, and closes shortly afterwards. */
function gateway() {
  const file = join(scratch, `store-${++files}.db`);
  /** Returns the stored instants, oldest first. */
  return async (time: string, config: Partial<ScheduleTrigger['config']>): Promise<readonly string[]> => {
    const store = await openSqliteStore({ file, workerUrl: storeWorkerUrl() });
    const { log, accept, waitUntilSettled, discard, undeliver, listen, connections } = new TestSourceHost();
    const adapter = scheduleAdapter({ now: () => at(time) });
    const open = await adapter.open(scheduleTrigger('nightly', config), {
      store,
      log,
      accept,
      discard,
      undeliver,
      waitUntilSettled,
      listen,
      connections,
    });
    const storedInstants = async () => {
      const deliveries = await store.deliveries({ limit: 1_000, idPrefix: 'schedule:nightly:' });
      return deliveries.map(({ id }) => id.slice('schedule:nightly:2026-11-21T'.length, -':00.000Z'.length));
    };
    // The store processes calls in order. A schedule writes its next instant right after a response.
    // Two equal reads in different turns mean that all writes are done.
    let all = await storedInstants();
    for (let before = -1; before !== all.length; ) {
      before = all.length;
      await nextTurn();
      all = await storedInstants();
    }
    await open.close();
    await store.close();
    return all.reverse();
  };
}

test.each(['last', 'all'] as const)(
  'a new schedule has no missed instants (catchup: %s)',
  async (catchup) => {
    const runAt = gateway();
    expect(await runAt('08:30', { cron: '0 * * * *', catchup })).toEqual([]);
  },
);

test.each([
  ['none', []],
  ['last', ['12:00']],
  ['all', ['09:00', '10:00', '11:00', '12:00']],
] as const)(
  'instants between the first load and the next start are missed, also without a tick before (catchup: %s)',
  async (catchup, expected) => {
    const runAt = gateway();
    await runAt('08:30', { cron: '0 * * * *', catchup });
    expect(await runAt('12:30', { cron: '0 * * * *', catchup })).toEqual(expected);
    expect(await runAt('12:40', { cron: '0 * * * *', catchup })).toEqual(expected);
  },
);

test.each([
  ['another expression', { cron: '30 * * * *' }, ['11:30', '12:30']],
  ['another zone', { cron: '15 17-18 * * *', timezone: 'Asia/Kolkata' }, ['11:45', '12:45']],
] as const)('%s is awaited from its own first load', async (_, changed, expected) => {
  const runAt = gateway();
  await runAt('08:10', { cron: '15 17-18 * * *', catchup: 'all' });
  expect(await runAt('11:10', { ...changed, catchup: 'all' })).toEqual([]);
  expect(await runAt('13:10', { ...changed, catchup: 'all' })).toEqual(expected);
});

test('a changed cron expression misses instants only from its first load on, even if the old one has fired', async () => {
  const runAt = gateway();
  const full = { cron: '0 * * * *', catchup: 'all' } as const;
  const half = { cron: '30 * * * *', catchup: 'all' } as const;
  expect(await runAt('08:30', full)).toEqual([]);
  expect(await runAt('10:10', full)).toEqual(['09:00', '10:00']);
  expect(await runAt('10:20', half)).toEqual(['09:00', '10:00']);
  expect(await runAt('11:40', half)).toEqual(['09:00', '10:00', '10:30', '11:30']);
});

test('a cron expression that is restored after a change has missed only the instants since its return', async () => {
  const runAt = gateway();
  await runAt('08:10', { cron: '0 * * * *', catchup: 'all' });
  await runAt('10:10', { cron: '0 23 * * *', catchup: 'all' });
  expect(await runAt('11:10', { cron: '0 * * * *', catchup: 'all' })).toEqual([]);
  expect(await runAt('13:10', { cron: '0 * * * *', catchup: 'all' })).toEqual(['12:00', '13:00']);
});

test('a changed catchup setting of a schedule does not change which instants were missed', async () => {
  const runAt = gateway();
  await runAt('08:10', { cron: '0 * * * *', catchup: 'none' });
  expect(await runAt('10:10', { cron: '0 * * * *', catchup: 'all' })).toEqual(['09:00', '10:00']);
});
