// Schedules with a clock set back, while open or between openings: small steps do not repeat
// instants; after large steps the new time applies.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { StoreUnavailableError } from '../../../../actors/base/errors/errors.ts';
import type { OpenTrigger } from '../../../../actors/platforms/adapter.ts';
import { scheduleAdapter } from '../../../../actors/platforms/schedule/adapter.ts';
import type { ScheduleTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { TestSourceHost } from '../../../fixtures/automation/source-host.ts';
import { scheduleTrigger } from '../../../fixtures/automation/triggers.ts';

const at = (time: string) => Date.parse(`2026-11-21T${time}.000Z`);
const YEAR_MS = 365 * 24 * 3_600_000;

let host: TestSourceHost;
let time: number;
const opened: OpenTrigger[] = [];

beforeEach(() => {
  host = new TestSourceHost();
  time = at('12:30:00');
});
afterEach(close);

async function open(config: Partial<ScheduleTrigger['config']> = {}): Promise<void> {
  const trigger = scheduleTrigger('nightly', { cron: '0 * * * *', ...config });
  opened.push(await scheduleAdapter({ now: () => time, watchMs: 5 }).open(trigger, host));
}

async function close(): Promise<void> {
  for (const each of opened.splice(0)) await each.close();
}

/** Resolves after several polls of the clock and their writes. */
const waitForPolls = () => new Promise((resolve) => setTimeout(resolve, 40));

async function setClock(clock: string): Promise<void> {
  time = at(clock);
  await waitForPolls();
}

const storedInstants = () =>
  host.store.events.map(({ id }) => id.slice('schedule:nightly:2026-11-21T'.length));

test.each(['none', 'last', 'all'] as const)(
  'a clock set back by hours makes past instants occur again as new events, without catch-up (catchup: %s)',
  async (catchup) => {
    await open({ catchup });
    await setClock('12:59:50');
    await setClock('13:00:05');
    await setClock('13:59:50');
    await setClock('14:00:05');
    await setClock('12:30:00');
    const [first, second] = ['13:00:00.000Z', '14:00:00.000Z'];
    expect(storedInstants()).toEqual([first, second]);
    await setClock('12:59:50');
    await setClock('13:00:05');
    expect(storedInstants()).toEqual([first, second, `${first}:2`]);
    await setClock('12:59:55');
    await setClock('13:00:05');
    expect(storedInstants()).toHaveLength(3);
    await setClock('11:59:50');
    await setClock('12:00:05');
    expect(storedInstants().slice(3)).toEqual(['12:00:00.000Z']);
  },
);

test('if the clock is set back by a year while a schedule is closed, the instants of that year occur', async () => {
  await open();
  await setClock('12:59:50');
  await setClock('13:00:05');
  await close();
  time -= YEAR_MS;
  await open();
  await waitForPolls();
  expect(storedInstants()).toHaveLength(1);
  time += 3_600_000 - 15_000;
  await waitForPolls();
  time += 20_000;
  await waitForPolls();
  expect(host.store.events.map(({ id }) => id)).toEqual([
    'schedule:nightly:2026-11-21T13:00:00.000Z',
    'schedule:nightly:2025-11-21T14:00:00.000Z',
  ]);
});

test('a clock set back by a minute repeats no scheduled instant, also after reopening, until such changes add up', async () => {
  await open();
  await setClock('12:59:50');
  await setClock('13:00:10');
  await setClock('12:59:10');
  await close();
  await open();
  await setClock('13:00:05');
  expect(storedInstants()).toEqual(['13:00:00.000Z']);
  await setClock('12:59:30');
  await setClock('12:58:59');
  await setClock('12:59:50');
  await setClock('13:00:05');
  expect(storedInstants()).toEqual(['13:00:00.000Z', '13:00:00.000Z:2']);
});

test('scheduled instants that were missed after the clock was set back are caught up once', async () => {
  await open({ catchup: 'all' });
  for (const clock of ['12:59:50', '13:00:05', '13:59:50', '14:00:05', '14:59:50', '15:00:05'])
    await setClock(clock);
  await setClock('12:30:00');
  await close();
  await setClock('14:30:00');
  for (let openings = 0; openings < 2; openings += 1) {
    await open({ catchup: 'all' });
    await waitForPolls();
    await close();
    expect(storedInstants().slice(3)).toEqual(['13:00:00.000Z:2', '14:00:00.000Z:2']);
  }
});

test('a clock that is temporarily far in the past does not make earlier scheduled instants count as missed', async () => {
  await open({ catchup: 'all' });
  await setClock('12:59:50');
  await setClock('13:00:05');
  await close();
  time = 0;
  await open({ catchup: 'all' });
  await waitForPolls();
  await setClock('14:30:00');
  const expected = ['13:00:00.000Z', '14:00:00.000Z'];
  expect(storedInstants()).toEqual(expected);
  await close();
  time = 0;
  await open({ catchup: 'all' });
  await waitForPolls();
  await close();
  await setClock('14:40:00');
  await open({ catchup: 'all' });
  await waitForPolls();
  expect(storedInstants()).toEqual(expected);
});

test('a scheduled instant that the store rejected before the clock was set back occurs once, at its time', async () => {
  await open();
  await setClock('12:59:50');
  host.store.fault = new StoreUnavailableError('the disk is full');
  await setClock('13:00:05');
  await setClock('12:00:30');
  host.store.fault = undefined;
  await setClock('12:59:50');
  await setClock('13:00:05');
  await expect.poll(storedInstants, { timeout: 5_000 }).toEqual(['13:00:00.000Z']);
  expect(host.lines.map(({ message }) => message)).toEqual([
    'could not store an instant of a schedule',
    'clock set back; schedule continues by the new time',
  ]);
});

test('a kill of the process between the two steps of a clock correction loses no scheduled instant', async () => {
  await open({ catchup: 'all' });
  await setClock('12:59:50');
  await setClock('13:00:05');
  await setClock('13:59:50');
  await setClock('14:00:05');
  const forgetTicks = host.store.forgetTicks.bind(host.store);
  host.store.forgetTicks = () => new Promise(() => {});
  await setClock('12:30:00');
  await close();
  host.store.forgetTicks = forgetTicks;
  await open({ catchup: 'all' });
  await waitForPolls();
  expect(storedInstants()).toHaveLength(2);
  await setClock('12:59:50');
  await setClock('13:00:05');
  expect(storedInstants().slice(2)).toEqual(['13:00:00.000Z:2']);
});
