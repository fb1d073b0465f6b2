// Schedules whose clock is set back, while they are open and between two openings: by a little nothing is repeated, by more the
// new time counts at once.

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

/** Several looks at the clock, and what they write. */
const looked = () => new Promise((resolve) => setTimeout(resolve, 40));

async function setTo(clock: string): Promise<void> {
  time = at(clock);
  await looked();
}

const came = () => host.store.events.map(({ id }) => id.slice('schedule:nightly:2026-11-21T'.length));

test.each(['none', 'last', 'all'] as const)(
  'set back by hours: what has come comes again at its time as another event, and nothing is made up for (catchup: %s)',
  async (catchup) => {
    await open({ catchup });
    await setTo('12:59:50');
    await setTo('13:00:05');
    await setTo('13:59:50');
    await setTo('14:00:05');
    await setTo('12:30:00');
    const [first, second] = ['13:00:00.000Z', '14:00:00.000Z'];
    expect(came()).toEqual([first, second]);
    await setTo('12:59:50');
    await setTo('13:00:05');
    expect(came()).toEqual([first, second, `${first}:2`]);
    await setTo('12:59:55');
    await setTo('13:00:05');
    expect(came()).toHaveLength(3);
    await setTo('11:59:50');
    await setTo('12:00:05');
    expect(came().slice(3)).toEqual(['12:00:00.000Z']);
  },
);

test('set back by a year between two openings: the instants of that time come (CC1)', async () => {
  await open();
  await setTo('12:59:50');
  await setTo('13:00:05');
  await close();
  time -= YEAR_MS;
  await open();
  await looked();
  expect(came()).toHaveLength(1);
  time += 3_600_000 - 15_000;
  await looked();
  time += 20_000;
  await looked();
  expect(host.store.events.map(({ id }) => id)).toEqual([
    'schedule:nightly:2026-11-21T13:00:00.000Z',
    'schedule:nightly:2025-11-21T14:00:00.000Z',
  ]);
});

test('set back by a minute nothing is repeated, opened anew or not; steps that add up to more are a correction (SCH3)', async () => {
  await open();
  await setTo('12:59:50');
  await setTo('13:00:10');
  await setTo('12:59:10');
  await close();
  await open();
  await setTo('13:00:05');
  expect(came()).toEqual(['13:00:00.000Z']);
  await setTo('12:59:30');
  await setTo('12:58:59');
  await setTo('12:59:50');
  await setTo('13:00:05');
  expect(came()).toEqual(['13:00:00.000Z', '13:00:00.000Z:2']);
});

test('what was missed after the clock was set back is made up for, once', async () => {
  await open({ catchup: 'all' });
  for (const clock of ['12:59:50', '13:00:05', '13:59:50', '14:00:05', '14:59:50', '15:00:05'])
    await setTo(clock);
  await setTo('12:30:00');
  await close();
  await setTo('14:30:00');
  for (let openings = 0; openings < 2; openings += 1) {
    await open({ catchup: 'all' });
    await looked();
    await close();
    expect(came().slice(3)).toEqual(['13:00:00.000Z:2', '14:00:00.000Z:2']);
  }
});

test('a clock that was wrong only for a while makes nothing of what had come before into something missed (SCH4)', async () => {
  await open({ catchup: 'all' });
  await setTo('12:59:50');
  await setTo('13:00:05');
  await close();
  time = 0;
  await open({ catchup: 'all' });
  await looked();
  await setTo('14:30:00');
  const expected = ['13:00:00.000Z', '14:00:00.000Z'];
  expect(came()).toEqual(expected);
  await close();
  time = 0;
  await open({ catchup: 'all' });
  await looked();
  await close();
  await setTo('14:40:00');
  await open({ catchup: 'all' });
  await looked();
  expect(came()).toEqual(expected);
});

test('what the store could not take before the clock was set back comes at its time, once', async () => {
  await open();
  await setTo('12:59:50');
  host.store.fault = new StoreUnavailableError('the disk is full');
  await setTo('13:00:05');
  await setTo('12:00:30');
  host.store.fault = undefined;
  await setTo('12:59:50');
  await setTo('13:00:05');
  await expect.poll(came, { timeout: 5_000 }).toEqual(['13:00:00.000Z']);
  expect(host.lines.map(({ message }) => message)).toEqual([
    'an instant of a schedule could not be stored',
    'the clock was set back: a schedule goes on by the new time',
  ]);
});

test('a kill between the two parts of a correction loses none of it (CC2)', async () => {
  await open({ catchup: 'all' });
  await setTo('12:59:50');
  await setTo('13:00:05');
  await setTo('13:59:50');
  await setTo('14:00:05');
  const forgetTicks = host.store.forgetTicks.bind(host.store);
  host.store.forgetTicks = () => new Promise(() => {});
  await setTo('12:30:00');
  await close();
  host.store.forgetTicks = forgetTicks;
  await open({ catchup: 'all' });
  await looked();
  expect(came()).toHaveLength(2);
  await setTo('12:59:50');
  await setTo('13:00:05');
  expect(came().slice(2)).toEqual(['13:00:00.000Z:2']);
});
