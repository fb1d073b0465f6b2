// Schedule triggers with real timers: unique instants, missed instants, overlaps, and a clock that is set
// forward.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { StoreUnavailableError } from '../../../../actors/base/errors/errors.ts';
import type { OpenTrigger, TriggerHost } from '../../../../actors/platforms/adapter.ts';
import { scheduleAdapter } from '../../../../actors/platforms/schedule/adapter.ts';
import { scheduleEvent, tickName } from '../../../../actors/platforms/schedule/event.ts';
import type { ScheduleTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { TestSourceHost } from '../../../fixtures/automation/source-host.ts';
import { scheduleTrigger } from '../../../fixtures/automation/triggers.ts';

const EACH_SECOND = '* * * * * *';
const HOUR = 3_600_000;

let host: TestSourceHost;
const opened: OpenTrigger[] = [];

beforeEach(() => {
  host = new TestSourceHost();
});
afterEach(async () => {
  for (const openTrigger of opened.splice(0)) await openTrigger.close();
});

interface Opening {
  readonly now?: () => number;
  readonly watchMs?: number;
  readonly in?: TriggerHost;
}

async function open(
  config: Partial<ScheduleTrigger['config']>,
  { in: where = host, ...options }: Opening = {},
) {
  const open = await scheduleAdapter(options).open(scheduleTrigger('nightly', config), where);
  opened.push(open);
  return open;
}

const ids = () => host.store.events.map(({ id }) => id.slice('schedule:nightly:'.length));
/** Stores a tick and completes the delivery. */
async function storeTick(at: number): Promise<void> {
  const event = { id: 'before', key: 'before', meta: '{}', body: new Uint8Array(), trace: '' };
  await host.store.tick(tickName('nightly'), at, event);
  await host.store.end('before', 'done');
  host.store.events.length = 0;
}

describe('a scheduled time', () => {
  test('becomes one event with its time in the event id', async () => {
    await open({ cron: EACH_SECOND });
    await expect.poll(() => host.store.events.length, { timeout: 5_000 }).toBeGreaterThanOrEqual(2);
    const [first, second] = host.store.events;
    const at = Date.parse(ids()[0] ?? '');
    expect(first?.id).toBe(`schedule:nightly:${new Date(at).toISOString()}`);
    expect(second?.id).toBe(`schedule:nightly:${new Date(at + 1_000).toISOString()}`);
    expect(first?.key).toBe('conversation/schedule/nightly');
    expect(first?.trace).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    expect(scheduleAdapter().read(host.event(0))).toMatchObject({
      platform: 'schedule',
      triggers: ['nightly'],
      text: undefined,
      context: {
        'schedule.at': new Date(at).toISOString(),
        'schedule.cron': EACH_SECOND,
        'schedule.timezone': 'UTC',
      },
    });
  });

  test('is stored once although several nodes add it', async () => {
    await Promise.all([
      open({ cron: EACH_SECOND }),
      open({ cron: EACH_SECOND }),
      open({ cron: EACH_SECOND }),
    ]);
    await expect.poll(() => host.store.events.length, { timeout: 5_000 }).toBeGreaterThanOrEqual(2);
    expect(new Set(ids()).size).toBe(ids().length);
  });

  test('is ignored after the trigger has closed', async () => {
    const trigger = await open({ cron: EACH_SECOND });
    await expect.poll(() => host.store.events.length, { timeout: 5_000 }).toBe(1);
    await trigger.close();
    await new Promise((resolve) => setTimeout(resolve, 1_300));
    expect(host.store.events).toHaveLength(1);
  });

  test('that is months away does not fire at once because of a timer overflow', async () => {
    const inTwoMonths = new Date(Date.now() + 62 * 24 * HOUR);
    await open({ cron: `0 0 1 ${inTwoMonths.getUTCMonth() + 1} *` });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(host.store.events).toEqual([]);
  });

  test('that the store rejects is retried until it is stored', async () => {
    host.store.fault = new StoreUnavailableError('the disk is full');
    await open({ cron: EACH_SECOND });
    await expect.poll(() => host.lines.length, { timeout: 5_000 }).toBeGreaterThan(0);
    const since = Date.now();
    host.store.fault = undefined;
    await expect.poll(() => host.store.events.length, { timeout: 8_000 }).toBeGreaterThanOrEqual(2);
    expect(Date.parse(ids()[0] ?? '')).toBeLessThanOrEqual(since);
    expect(new Set(ids()).size).toBe(ids().length);
    expect(host.lines[0]).toMatchObject({ level: 'warn', fields: { trigger: 'nightly' } });
  });
});

describe('missed scheduled times', () => {
  const now = Date.UTC(2026, 10, 21, 12, 30);
  const at = { now: () => now, watchMs: 10 };

  test.each([
    ['none', []],
    ['last', ['2026-11-21T12:00:00.000Z']],
    ['all', ['2026-11-21T10:00:00.000Z', '2026-11-21T11:00:00.000Z', '2026-11-21T12:00:00.000Z']],
  ] as const)('are stored by catchup: %s', async (catchup, expected) => {
    await storeTick(Date.UTC(2026, 10, 21, 9));
    await open({ cron: '0 * * * *', catchup }, at);
    await expect.poll(ids).toEqual(expected);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(ids()).toEqual(expected);
  });

  test('are limited in number', async () => {
    await storeTick(now - 365 * 24 * HOUR);
    await open({ cron: '* * * * *', catchup: 'all' }, at);
    await expect.poll(() => host.store.events.length).toBe(1_000);
    expect(ids().at(-1)).toBe('2026-11-21T12:30:00.000Z');
  });

  test('do not include times before the schedule first ran', async () => {
    await open({ cron: '* * * * *', catchup: 'all' }, at);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(ids()).toEqual([]);
  });

  test.each([
    ['expression', { cron: '*/5 * * * *' }],
    ['zone', { cron: '0 * * * *', timezone: 'Asia/Kolkata' }],
  ])('do not include times before a change of the %s', async (_, changed) => {
    const event = scheduleEvent(scheduleTrigger('nightly', { cron: '0 * * * *' }), now - 6.5 * HOUR);
    await host.store.tick(tickName('nightly'), now - 6.5 * HOUR, event);
    await open({ catchup: 'all', ...changed }, at);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(ids()).toHaveLength(1);
    await open({ catchup: 'all', cron: '0 * * * *' }, at);
    await expect.poll(ids).toHaveLength(7);
  });

  test('are not stored again at the next start', async () => {
    await storeTick(Date.UTC(2026, 10, 21, 9));
    const first = await open({ cron: '0 * * * *', catchup: 'all' }, at);
    await expect.poll(() => ids().length).toBe(3);
    await first.close();
    await open({ cron: '0 * * * *', catchup: 'all' }, at);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(ids()).toHaveLength(3);
  });

  test('are all stored even with overlap: skip', async () => {
    await storeTick(Date.UTC(2026, 10, 21, 9));
    await open({ cron: '0 * * * *', catchup: 'all', overlap: 'skip' }, at);
    await expect.poll(() => ids().length).toBe(3);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await host.store.counts()).toMatchObject({ queued: 3 });
  });
});

describe('a clock change', () => {
  test.each([
    ['none', []],
    ['last', ['2026-11-21T15:00:00.000Z']],
    ['all', ['2026-11-21T13:00:00.000Z', '2026-11-21T14:00:00.000Z', '2026-11-21T15:00:00.000Z']],
  ] as const)(
    'forward by hours makes the skipped instants missed (catchup: %s)',
    async (catchup, expected) => {
      let time = Date.UTC(2026, 10, 21, 12, 30);
      await open({ cron: '0 * * * *', catchup }, { now: () => time, watchMs: 10 });
      time = Date.UTC(2026, 10, 21, 15, 30);
      await expect.poll(ids).toEqual(expected);
    },
  );

  test('forward by seconds delivers the skipped scheduled times', async () => {
    let time = Date.UTC(2026, 10, 21, 12, 59, 50);
    await open({ cron: '0 * * * *' }, { now: () => time, watchMs: 10 });
    time += 20_000;
    await expect.poll(ids).toEqual(['2026-11-21T13:00:00.000Z']);
  });
});

describe('overlapping scheduled times', () => {
  /** Opens an hourly schedule with a clock that moves from hour to hour. */
  async function openHourly(overlap: 'skip' | 'queue' | 'replace', where: TriggerHost = host) {
    let time = Date.UTC(2026, 10, 21, 12, 59, 50);
    await open({ cron: '0 * * * *', overlap }, { now: () => time, watchMs: 10, in: where });
    return async () => {
      const count = host.store.events.length;
      time += time % HOUR === 10_000 ? HOUR : 20_000;
      await expect.poll(() => host.store.events.length).toBe(count + 1);
      // Time for the work after the tick.
      await new Promise((resolve) => setTimeout(resolve, 20));
    };
  }
  const stateOf = async (index: number) => (await host.store.delivery(host.event(index).id))?.state;

  test('are queued with overlap: queue', async () => {
    const tick = await openHourly('queue');
    await tick();
    await host.store.claim(1, 60_000);
    await tick();
    expect([await stateOf(0), await stateOf(1)]).toEqual(['running', 'queued']);
  });

  test('are skipped with overlap: skip, only while the earlier delivery runs', async () => {
    const tick = await openHourly('skip');
    await tick();
    const [claim] = await host.store.claim(1, 60_000);
    await tick();
    expect([await stateOf(0), await stateOf(1)]).toEqual(['running', 'ignored']);
    expect((await host.store.delivery(host.event(1).id))?.note).toMatch(
      /^skipped: schedule:nightly:.* had not ended$/,
    );
    if (claim === undefined) throw new Error('no delivery was claimed');
    await host.store.commit([{ ...claim, seq: claim.event.seq, outcome: 'done' }]);
    await tick();
    expect(await stateOf(2)).toBe('queued');
  });

  test('replace queued events with overlap: replace', async () => {
    const tick = await openHourly('replace');
    await tick();
    await tick();
    expect([await stateOf(0), await stateOf(1)]).toEqual(['ignored', 'queued']);
  });

  test.each([
    ['skip', ['waiting', 'ignored']],
    ['replace', ['ignored', 'queued']],
  ] as const)('count a parked delivery as not ended (overlap: %s)', async (overlap, expected) => {
    const tick = await openHourly(overlap);
    await tick();
    const [claim] = await host.store.claim(1, 60_000);
    if (claim === undefined) throw new Error('no delivery was claimed');
    await host.store.commit([{ ...claim, seq: claim.event.seq, outcome: 'parked', parkedOn: 'decision' }]);
    await tick();
    expect([await stateOf(0), await stateOf(1)]).toEqual(expected);
  });

  test('notify callers that wait for an event that a later one replaces', async () => {
    const tick = await openHourly('replace');
    await tick();
    const settled = host.waitUntilSettled('nightly', host.event(0).id, 20_000);
    await tick();
    expect(await settled).toMatchObject({ state: 'ignored', note: `replaced by ${host.event(1).id}` });
  });

  test('cancel the running delivery with overlap: replace if the host supports cancellation', async () => {
    const cancellations: string[] = [];
    const cancellingHost: TriggerHost = {
      store: host.store,
      log: host.log,
      accept: (event) => host.accept(event),
      waitUntilSettled: (trigger, id, timeoutMs) => host.waitUntilSettled(trigger, id, timeoutMs),
      discard: (id, note) => host.discard(id, note),
      undeliver: async () => [],
      listen: (webhook) => host.listen(webhook),
      connections: host.connections,
      cancel: async (id, note) => cancellations.push(`${id} ${note}`) > 0,
    };
    const tick = await openHourly('replace', cancellingHost);
    await tick();
    await host.store.claim(1, 60_000);
    await tick();
    expect(cancellations).toEqual([`${host.event(0).id} replaced by ${host.event(1).id}`]);
  });

  test.each(['skip', 'replace'] as const)(
    'with overlap: %s do not block themselves if two timers fire',
    async (overlap) => {
      let time = Date.UTC(2026, 10, 21, 12, 59, 50);
      for (const watchMs of [10, 30])
        await open({ cron: '0 * * * *', overlap }, { now: () => time, watchMs });
      time += 20_000;
      await expect.poll(() => host.store.events.length).toBe(1);
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(await stateOf(0)).toBe('queued');
    },
  );

  test('are not affected by deliveries of a trigger whose name begins with the same text', async () => {
    const other = scheduleTrigger('nightly-2', { cron: EACH_SECOND });
    opened.push(await scheduleAdapter().open(other, host));
    await expect.poll(() => host.store.events.length, { timeout: 5_000 }).toBe(1);
    await opened.pop()?.close();
    const tick = await openHourly('skip');
    await tick();
    expect(await stateOf(1)).toBe('queued');
  });
});

test('a schedule with an invalid expression or time zone does not open', async () => {
  await expect(open({ cron: 'x * * * *' })).rejects.toThrow();
  await expect(open({ timezone: 'Europe/Nowhere' })).rejects.toThrow();
});
