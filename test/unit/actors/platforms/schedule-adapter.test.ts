// Triggers of type Schedule with real timers: each instant once, what was missed, what overlaps, and clocks that are set forward.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { StoreUnavailableError } from '../../../../actors/base/errors/errors.ts';
import type { OpenTrigger, SourceHost } from '../../../../actors/platforms/adapter.ts';
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
  for (const each of opened.splice(0)) await each.close();
});

interface Opening {
  readonly now?: () => number;
  readonly watchMs?: number;
  readonly in?: SourceHost;
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
/** Notes that an instant counted, and ends its delivery. */
async function ticked(at: number): Promise<void> {
  const event = { id: 'before', key: 'before', meta: '{}', body: new Uint8Array(), trace: '' };
  await host.store.tick(tickName('nightly'), at, event);
  await host.store.end('before', 'done');
  host.store.events.length = 0;
}

describe('an instant', () => {
  test('becomes one event, each time (SCH1)', async () => {
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

  test('counts once although several see it come (TW1)', async () => {
    await Promise.all([
      open({ cron: EACH_SECOND }),
      open({ cron: EACH_SECOND }),
      open({ cron: EACH_SECOND }),
    ]);
    await expect.poll(() => host.store.events.length, { timeout: 5_000 }).toBeGreaterThanOrEqual(2);
    expect(new Set(ids()).size).toBe(ids().length);
  });

  test('after the trigger has closed is nobody’s', async () => {
    const trigger = await open({ cron: EACH_SECOND });
    await expect.poll(() => host.store.events.length, { timeout: 5_000 }).toBe(1);
    await trigger.close();
    await new Promise((resolve) => setTimeout(resolve, 1_300));
    expect(host.store.events).toHaveLength(1);
  });

  test('that is months away is waited for without a timer that goes off at once', async () => {
    const inTwoMonths = new Date(Date.now() + 62 * 24 * HOUR);
    await open({ cron: `0 0 1 ${inTwoMonths.getUTCMonth() + 1} *` });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(host.store.events).toEqual([]);
  });

  test('that the store cannot take is kept until it can', async () => {
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

describe('instants that were missed', () => {
  const now = Date.UTC(2026, 10, 21, 12, 30);
  const at = { now: () => now, watchMs: 10 };

  test.each([
    ['none', []],
    ['last', ['2026-11-21T12:00:00.000Z']],
    ['all', ['2026-11-21T10:00:00.000Z', '2026-11-21T11:00:00.000Z', '2026-11-21T12:00:00.000Z']],
  ] as const)('count by catchup: %s', async (catchup, expected) => {
    await ticked(Date.UTC(2026, 10, 21, 9));
    await open({ cron: '0 * * * *', catchup }, at);
    await expect.poll(ids).toEqual(expected);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(ids()).toEqual(expected);
  });

  test('are bounded (SCH2)', async () => {
    await ticked(now - 365 * 24 * HOUR);
    await open({ cron: '* * * * *', catchup: 'all' }, at);
    await expect.poll(() => host.store.events.length).toBe(1_000);
    expect(ids().at(-1)).toBe('2026-11-21T12:30:00.000Z');
  });

  test('are none before the first that ever counted', async () => {
    await open({ cron: '* * * * *', catchup: 'all' }, at);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(ids()).toEqual([]);
  });

  test.each([
    ['expression', { cron: '*/5 * * * *' }],
    ['zone', { cron: '0 * * * *', timezone: 'Asia/Kolkata' }],
  ])('are none of an %s that is new', async (_, changed) => {
    const event = scheduleEvent(scheduleTrigger('nightly', { cron: '0 * * * *' }), now - 6.5 * HOUR);
    await host.store.tick(tickName('nightly'), now - 6.5 * HOUR, event);
    await open({ catchup: 'all', ...changed }, at);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(ids()).toHaveLength(1);
    await open({ catchup: 'all', cron: '0 * * * *' }, at);
    await expect.poll(ids).toHaveLength(7);
  });

  test('do not count again at the next start', async () => {
    await ticked(Date.UTC(2026, 10, 21, 9));
    const first = await open({ cron: '0 * * * *', catchup: 'all' }, at);
    await expect.poll(() => ids().length).toBe(3);
    await first.close();
    await open({ cron: '0 * * * *', catchup: 'all' }, at);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(ids()).toHaveLength(3);
  });

  test('are not left out by overlap: skip, which is about instants that meet', async () => {
    await ticked(Date.UTC(2026, 10, 21, 9));
    await open({ cron: '0 * * * *', catchup: 'all', overlap: 'skip' }, at);
    await expect.poll(() => ids().length).toBe(3);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await host.store.counts()).toMatchObject({ queued: 3 });
  });
});

describe('a clock that is set', () => {
  test.each([
    ['none', []],
    ['last', ['2026-11-21T15:00:00.000Z']],
    ['all', ['2026-11-21T13:00:00.000Z', '2026-11-21T14:00:00.000Z', '2026-11-21T15:00:00.000Z']],
  ] as const)(
    'forward by hours: what was jumped over was missed (catchup: %s)',
    async (catchup, expected) => {
      let time = Date.UTC(2026, 10, 21, 12, 30);
      await open({ cron: '0 * * * *', catchup }, { now: () => time, watchMs: 10 });
      time = Date.UTC(2026, 10, 21, 15, 30);
      await expect.poll(ids).toEqual(expected);
    },
  );

  test('forward by a little: what was jumped over has come', async () => {
    let time = Date.UTC(2026, 10, 21, 12, 59, 50);
    await open({ cron: '0 * * * *' }, { now: () => time, watchMs: 10 });
    time += 20_000;
    await expect.poll(ids).toEqual(['2026-11-21T13:00:00.000Z']);
  });
});

describe('instants that overlap', () => {
  /** A clock that goes from one full hour to the next. */
  async function hourly(overlap: 'skip' | 'queue' | 'replace', where: SourceHost = host) {
    let time = Date.UTC(2026, 10, 21, 12, 59, 50);
    await open({ cron: '0 * * * *', overlap }, { now: () => time, watchMs: 10, in: where });
    return async () => {
      const count = host.store.events.length;
      time += time % HOUR === 10_000 ? HOUR : 20_000;
      await expect.poll(() => host.store.events.length).toBe(count + 1);
      // Until what follows the tick is done as well.
      await new Promise((resolve) => setTimeout(resolve, 20));
    };
  }
  const stateOf = async (index: number) => (await host.store.delivery(host.event(index).id))?.state;

  test('queue up', async () => {
    const tick = await hourly('queue');
    await tick();
    await host.store.claim(1, 60_000);
    await tick();
    expect([await stateOf(0), await stateOf(1)]).toEqual(['running', 'queued']);
  });

  test('are left out under skip, and no longer than needed (TW2)', async () => {
    const tick = await hourly('skip');
    await tick();
    const [turn] = await host.store.claim(1, 60_000);
    await tick();
    expect([await stateOf(0), await stateOf(1)]).toEqual(['running', 'ignored']);
    expect((await host.store.delivery(host.event(1).id))?.note).toMatch(
      /^left out: schedule:nightly:.* had not ended$/,
    );
    if (turn === undefined) throw new Error('the first one was to run');
    await host.store.commit([{ ...turn, seq: turn.event.seq, outcome: 'done' }]);
    await tick();
    expect(await stateOf(2)).toBe('queued');
  });

  test('take the place of those that wait under replace', async () => {
    const tick = await hourly('replace');
    await tick();
    await tick();
    expect([await stateOf(0), await stateOf(1)]).toEqual(['ignored', 'queued']);
  });

  test.each([
    ['skip', ['waiting', 'ignored']],
    ['replace', ['ignored', 'queued']],
  ] as const)('count one that is parked as not ended (%s)', async (overlap, expected) => {
    const tick = await hourly(overlap);
    await tick();
    const [turn] = await host.store.claim(1, 60_000);
    if (turn === undefined) throw new Error('the first one was to run');
    await host.store.commit([{ ...turn, seq: turn.event.seq, outcome: 'parked', parkedOn: 'decision' }]);
    await tick();
    expect([await stateOf(0), await stateOf(1)]).toEqual(expected);
  });

  test('tell whoever waits for one that is replaced', async () => {
    const tick = await hourly('replace');
    await tick();
    const settled = host.settled('nightly', host.event(0).id, 20_000);
    await tick();
    expect(await settled).toMatchObject({ state: 'ignored', note: `replaced by ${host.event(1).id}` });
  });

  test('have the one that runs ended under replace, where the host can do that', async () => {
    const ended: string[] = [];
    const able: SourceHost = {
      store: host.store,
      log: host.log,
      accept: (event) => host.accept(event),
      settled: (trigger, id, timeoutMs) => host.settled(trigger, id, timeoutMs),
      discard: (id, note) => host.discard(id, note),
      undeliver: async () => [],
      listen: (webhook) => host.listen(webhook),
      connections: host.connections,
      cancel: async (id, note) => ended.push(`${id} ${note}`) > 0,
    };
    const tick = await hourly('replace', able);
    await tick();
    await host.store.claim(1, 60_000);
    await tick();
    expect(ended).toEqual([`${host.event(0).id} replaced by ${host.event(1).id}`]);
  });

  test.each(['skip', 'replace'] as const)(
    'under %s are not in their own way when two see them come',
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

  test('of another trigger whose name begins alike do not count', async () => {
    const other = scheduleTrigger('nightly-2', { cron: EACH_SECOND });
    opened.push(await scheduleAdapter().open(other, host));
    await expect.poll(() => host.store.events.length, { timeout: 5_000 }).toBe(1);
    await opened.pop()?.close();
    const tick = await hourly('skip');
    await tick();
    expect(await stateOf(1)).toBe('queued');
  });
});

test('an expression or a zone that is none does not open', async () => {
  await expect(open({ cron: 'x * * * *' })).rejects.toThrow();
  await expect(open({ timezone: 'Europe/Nowhere' })).rejects.toThrow();
});
