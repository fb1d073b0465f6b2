// Instants of random cron expressions in random time zones (cron-instants.ts), compared with the parser of
// node-schedule. At some clock changes (daylight saving) the two differ by design. The model for these
// changes is a direct evaluation of the documented rules.

import { createRequire } from 'node:module';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CronInstants, lastInstants } from '../../../../actors/platforms/schedule/cron-instants.ts';
import { zoneOffset } from '../../../../actors/platforms/schedule/zone-offset.ts';
import { cronFault } from '../../../../config/resources/fields/cron.ts';
import { runs } from '../../../fixtures/property-runs.ts';

interface Parser {
  parseExpression(
    cron: string,
    options: { readonly currentDate: Date; readonly tz: string },
  ): { next(): { getTime(): number } };
}
const requireFromNodeSchedule = createRequire(createRequire(import.meta.url).resolve('node-schedule'));
const parser = requireFromNodeSchedule('cron-parser') as Parser;

const DAY_MS = 86_400_000;

const zones = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Asia/Kolkata',
  'America/St_Johns',
  'Africa/Cairo',
  'Africa/Casablanca',
  'America/Santiago',
  'Pacific/Chatham',
  'Pacific/Kiritimati',
];

/** Generates one cron field. */
const field = (low: number, high: number): fc.Arbitrary<string> => {
  const value = fc.integer({ min: low, max: high });
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant('*') },
    value.map(String),
    fc.tuple(value, value).map((ends) => `${Math.min(...ends)}-${Math.max(...ends)}`),
    fc.integer({ min: 1, max: high }).map((step) => `*/${step}`),
    fc.tuple(value, value, value).map((values) => values.join(',')),
  );
};

/**
 * A cron expression. If both the day of the month and the day of the week are restricted, they are single
 * days, because the parser reads a full range as `*`.
 */
const arbCron = fc
  .record({
    seconds: fc.option(field(0, 59), { nil: undefined }),
    time: fc.tuple(field(0, 59), field(0, 23)),
    days: fc.oneof(
      fc.tuple(field(1, 31), field(1, 12), fc.constant('*')),
      fc.tuple(fc.constant('*'), field(1, 12), field(0, 6)),
      fc.tuple(fc.integer({ min: 1, max: 29 }), field(1, 12), fc.integer({ min: 0, max: 6 })),
    ),
  })
  .map(({ seconds, time, days }) => [...(seconds === undefined ? [] : [seconds]), ...time, ...days].join(' '))
  .filter((cron) => cronFault(cron) === undefined);

const arbZone = fc.constantFrom(...zones);
const arbStart = fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2035, 0, 1) });

function instantsAfter(cron: string, tz: string, from: number, count: number): number[] {
  const instants = new CronInstants(cron, tz);
  const found: number[] = [];
  for (let at = instants.after(from); at !== undefined && found.length < count; at = instants.after(at))
    found.push(at);
  return found;
}

function instantsByNodeSchedule(cron: string, from: number, count: number): number[] {
  const parsed = parser.parseExpression(cron, { currentDate: new Date(from), tz: 'UTC' });
  return Array.from({ length: count }, () => parsed.next().getTime());
}

test('without clock changes the instants of a cron expression equal those of node-schedule', () => {
  fc.assert(
    fc.property(arbCron, arbStart, (cron, from) => {
      expect(instantsAfter(cron, 'UTC', from, 5)).toEqual(instantsByNodeSchedule(cron, from, 5));
    }),
    { numRuns: runs(300) },
  );
});

/** Clock changes at which both implementations agree: by one hour, and not at midnight. */
const agreedChanges = [
  ['Europe/Berlin', Date.UTC(2026, 2, 29, 1)],
  ['Europe/Berlin', Date.UTC(2026, 9, 25, 1)],
  ['America/New_York', Date.UTC(2027, 2, 14, 7)],
  ['America/New_York', Date.UTC(2027, 10, 7, 6)],
] as const;

test('at clock changes by one hour the instants of a cron expression equal those of node-schedule', () => {
  const hours = fc.oneof(fc.constantFrom('0', '1', '2', '3', '1,3', '*/2', '1-2', '2-4', '*'), field(0, 23));
  const minutes = fc.constantFrom('0', '30', '*/20', '59');
  fc.assert(
    fc.property(fc.constantFrom(...agreedChanges), minutes, hours, ([tz, change], minute, hour) => {
      const cron = `${minute} ${hour} * * *`;
      // Starts 20 hours earlier, because the parser has to pass the change.
      const from = change - 20 * 3_600_000;
      const parsed = parser.parseExpression(cron, { currentDate: new Date(from), tz });
      const until = change + 20 * 3_600_000;
      const expected: number[] = [];
      for (let at = parsed.next().getTime(); at <= until; at = parsed.next().getTime()) expected.push(at);
      // The parser repeats an instant if two local times map to it.
      expect(lastInstants(new CronInstants(cron, tz), from, until, 10_000)).toEqual([...new Set(expected)]);
    }),
    { numRuns: runs(60) },
  );
});

/** The model: evaluates the documented rules for each local minute of the days around a clock change. */
function instantsByRules(tz: string, change: number, minutes: readonly number[], hours: readonly number[]) {
  const offsetAt = zoneOffset(tz);
  const [before, after] = [offsetAt(change - 1), offsetAt(change)];
  const found = new Set<number>();
  for (let local = change + before - 3 * DAY_MS; local < change + before + 3 * DAY_MS; local += 60_000) {
    const time = new Date(local);
    if (!minutes.includes(time.getUTCMinutes()) || !hours.includes(time.getUTCHours())) continue;
    // A repeated local time has two valid offsets, a skipped time has zero.
    const validOffsets = [before, after].filter((offset) => offsetAt(local - offset) === offset);
    const isEveryHour = hours.length === 24;
    // Unless the expression is for every hour, a skipped time moves, and a repeated time counts once.
    const usedOffsets = isEveryHour ? validOffsets : [validOffsets[0] ?? before];
    for (const offset of usedOffsets) found.add(local - offset);
  }
  return [...found].sort((a, b) => a - b);
}

test('around clock changes the instants of a cron expression follow the documented rules, in each time zone', () => {
  const allChanges = [
    ['Europe/Berlin', Date.UTC(2026, 2, 29, 1)],
    ['Europe/Berlin', Date.UTC(2026, 9, 25, 1)],
    ['Australia/Lord_Howe', Date.UTC(2026, 3, 4, 15)],
    ['Australia/Lord_Howe', Date.UTC(2026, 9, 3, 15, 30)],
    ['Africa/Cairo', Date.UTC(2026, 3, 23, 22)],
    ['Africa/Cairo', Date.UTC(2026, 9, 29, 21)],
    ['America/Santiago', Date.UTC(2026, 8, 6, 4)],
    ['America/Santiago', Date.UTC(2026, 3, 5, 3)],
    ['Pacific/Apia', Date.UTC(2011, 11, 30, 10)],
  ] as const;
  const arbChange = fc.constantFrom(...allChanges);
  const hours = fc.oneof(
    fc.constant([...Array(24).keys()]),
    fc.uniqueArray(fc.nat(23), { minLength: 1, maxLength: 6 }),
  );
  const minutes = fc.uniqueArray(fc.constantFrom(0, 15, 29, 30, 59), { minLength: 1 });
  fc.assert(
    fc.property(arbChange, hours, minutes, fc.nat(2 * DAY_MS), ([tz, change], hour, minute, startMs) => {
      // The offset really changes at this time.
      expect(zoneOffset(tz)(change - 1)).not.toBe(zoneOffset(tz)(change));
      const [from, until] = [change - DAY_MS + startMs, change + 1.9 * DAY_MS];
      const hourField = hour.length === 24 ? '*' : hour.join(',');
      const instants = new CronInstants(`${minute.join(',')} ${hourField} * * *`, tz);
      const expected = instantsByRules(tz, change, minute, hour).filter((at) => at > from && at <= until);
      expect(lastInstants(instants, from, until, 10_000)).toEqual(expected);
    }),
    { numRuns: runs(200) },
  );
});

test('the instants of a cron expression do not depend on the start of the search', () => {
  fc.assert(
    fc.property(arbCron, arbZone, arbStart, fc.nat(10 * DAY_MS), (cron, tz, from, laterMs) => {
      const all = instantsAfter(cron, tz, from, 20);
      const rest = all.filter((at) => at > from + laterMs);
      expect(instantsAfter(cron, tz, from + laterMs, rest.length)).toEqual(rest);
      expect([...all].sort((a, b) => a - b)).toEqual(all);
      expect(new Set(all).size).toBe(all.length);
    }),
    { numRuns: runs(300) },
  );
});

test('the search for the last instants of a cron expression in a period finds the same as a list of all instants', () => {
  fc.assert(
    fc.property(
      arbCron,
      arbZone,
      arbStart,
      fc.nat(DAY_MS),
      fc.integer({ min: 1, max: 50 }),
      (cron, tz, from, periodMs, maxCount) => {
        const instants = new CronInstants(cron, tz);
        const all: number[] = [];
        for (
          let at = instants.after(from);
          at !== undefined && at <= from + periodMs && all.length < 5_000;
          at = instants.after(at)
        )
          all.push(at);
        // Longer lists are cut off, so their end is unknown.
        if (all.length < 5_000)
          expect(lastInstants(instants, from, from + periodMs, maxCount)).toEqual(all.slice(-maxCount));
      },
    ),
    { numRuns: runs(100) },
  );
});
