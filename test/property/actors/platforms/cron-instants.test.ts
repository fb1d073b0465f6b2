// Instants of random cron expressions in random zones, compared with the parser of node-schedule. The two
// differ by design at clock changes, for which the unit test has the expected instants.

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
const requireOfNodeSchedule = createRequire(createRequire(import.meta.url).resolve('node-schedule'));
const parser = requireOfNodeSchedule('cron-parser') as Parser;

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

const field = (low: number, high: number): fc.Arbitrary<string> => {
  const value = fc.integer({ min: low, max: high });
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant('*') },
    value.map(String),
    fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
    fc.integer({ min: 1, max: high }).map((step) => `*/${step}`),
    fc.tuple(value, value, value).map((values) => values.join(',')),
  );
};

/** A day of the month, a day of the week, or both, because the parser reads a full range as `*`. */
const expression = fc
  .record({
    seconds: fc.option(field(0, 59), { nil: undefined }),
    rest: fc.tuple(field(0, 59), field(0, 23)),
    days: fc.oneof(
      fc.tuple(field(1, 31), field(1, 12), fc.constant('*')),
      fc.tuple(fc.constant('*'), field(1, 12), field(0, 6)),
      fc.tuple(fc.integer({ min: 1, max: 29 }), field(1, 12), fc.integer({ min: 0, max: 6 })),
    ),
  })
  .map(({ seconds, rest, days }) => [...(seconds === undefined ? [] : [seconds]), ...rest, ...days].join(' '))
  .filter((cron) => cronFault(cron) === undefined);

const zone = fc.constantFrom(...zones);
const start = fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2035, 0, 1) });

function instantsAfter(cron: string, tz: string, from: number, count: number): number[] {
  const instants = new CronInstants(cron, tz);
  const found: number[] = [];
  for (let at = instants.after(from); at !== undefined && found.length < count; at = instants.after(at))
    found.push(at);
  return found;
}

function byNodeSchedule(cron: string, from: number, count: number): number[] {
  const expectedByParser = parser.parseExpression(cron, { currentDate: new Date(from), tz: 'UTC' });
  return Array.from({ length: count }, () => expectedByParser.next().getTime());
}

test('without clock changes the instants of a cron expression equal those of node-schedule', () => {
  fc.assert(
    fc.property(expression, start, (cron, from) => {
      expect(instantsAfter(cron, 'UTC', from, 5)).toEqual(byNodeSchedule(cron, from, 5));
    }),
    { numRuns: runs(300) },
  );
});

// Changes by one hour that are not at midnight, where both implementations agree.
const changes = [
  ['Europe/Berlin', Date.UTC(2026, 2, 29, 1)],
  ['Europe/Berlin', Date.UTC(2026, 9, 25, 1)],
  ['America/New_York', Date.UTC(2027, 2, 14, 7)],
  ['America/New_York', Date.UTC(2027, 10, 7, 6)],
] as const;

test('at clock changes by one hour the instants of a cron expression equal those of node-schedule', () => {
  const hours = fc.oneof(fc.constantFrom('0', '1', '2', '3', '1,3', '*/2', '1-2', '2-4', '*'), field(0, 23));
  const minutes = fc.constantFrom('0', '30', '*/20', '59');
  fc.assert(
    fc.property(fc.constantFrom(...changes), minutes, hours, ([tz, change], minute, hour) => {
      const cron = `${minute} ${hour} * * *`;
      // Starts a day earlier, because the parser has to pass the change.
      const from = change - 20 * 3_600_000;
      const expectedByParser = parser.parseExpression(cron, { currentDate: new Date(from), tz });
      const until = change + 20 * 3_600_000;
      const expected: number[] = [];
      for (let at = expectedByParser.next().getTime(); at <= until; at = expectedByParser.next().getTime())
        expected.push(at);
      // The parser repeats an instant if two local times map to it.
      expect(lastInstants(new CronInstants(cron, tz), from, until, 10_000)).toEqual([...new Set(expected)]);
    }),
    { numRuns: runs(60) },
  );
});

/** Evaluates the documented rules per local minute; `before` and `after` are the offsets around a change. */
function byTheRules(zone: string, change: number, minutes: readonly number[], hours: readonly number[]) {
  const offsetAt = zoneOffset(zone);
  const [before, after] = [offsetAt(change - 1), offsetAt(change)];
  const found = new Set<number>();
  for (let local = change + before - 3 * DAY_MS; local < change + before + 3 * DAY_MS; local += 60_000) {
    const time = new Date(local);
    if (!minutes.includes(time.getUTCMinutes()) || !hours.includes(time.getUTCHours())) continue;
    const validOffsets = [before, after].filter((offset) => offsetAt(local - offset) === offset);
    const counted =
      hours.length === 24 ? validOffsets : validOffsets.length === 0 ? [before] : validOffsets.slice(0, 1);
    for (const offset of counted) found.add(local - offset);
  }
  return [...found].sort((a, b) => a - b);
}

test('around clock changes the instants of a cron expression follow the documented rules, in each time zone', () => {
  const changesOf = [
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
  const around = fc.constantFrom(...changesOf);
  const hours = fc.oneof(
    fc.constant([...Array(24).keys()]),
    fc.uniqueArray(fc.nat(23), { minLength: 1, maxLength: 6 }),
  );
  const minutes = fc.uniqueArray(fc.constantFrom(0, 15, 29, 30, 59), { minLength: 1 });
  fc.assert(
    fc.property(around, hours, minutes, fc.nat(2 * DAY_MS), ([tz, change], hour, minute, later) => {
      expect(zoneOffset(tz)(change - 1)).not.toBe(zoneOffset(tz)(change));
      const [from, until] = [change - DAY_MS + later, change + 1.9 * DAY_MS];
      const field = hour.length === 24 ? '*' : hour.join(',');
      const instants = new CronInstants(`${minute.join(',')} ${field} * * *`, tz);
      const expected = byTheRules(tz, change, minute, hour).filter((at) => at > from && at <= until);
      expect(lastInstants(instants, from, until, 10_000)).toEqual(expected);
    }),
    { numRuns: runs(200) },
  );
});

test('the instants of a cron expression do not depend on the start of the search', () => {
  fc.assert(
    fc.property(expression, zone, start, fc.nat(10 * 86_400_000), (cron, tz, from, later) => {
      const all = instantsAfter(cron, tz, from, 20);
      const rest = all.filter((at) => at > from + later);
      expect(instantsAfter(cron, tz, from + later, rest.length)).toEqual(rest);
      expect([...all].sort((a, b) => a - b)).toEqual(all);
      expect(new Set(all).size).toBe(all.length);
    }),
    { numRuns: runs(300) },
  );
});

test('the last instants of a cron expression in a period are the end of the list of all instants in this period', () => {
  fc.assert(
    fc.property(
      expression,
      zone,
      start,
      fc.nat(86_400_000),
      fc.integer({ min: 1, max: 50 }),
      (cron, tz, from, span, max) => {
        const instants = new CronInstants(cron, tz);
        const all: number[] = [];
        for (
          let at = instants.after(from);
          at !== undefined && at <= from + span && all.length < 5_000;
          at = instants.after(at)
        )
          all.push(at);
        if (all.length < 5_000)
          expect(lastInstants(instants, from, from + span, max)).toEqual(all.slice(-max));
      },
    ),
    { numRuns: runs(100) },
  );
});
