// Instants of cron expressions at daylight saving changes: documented rules, and differences from other
// programs.

import { describe, expect, test } from 'vitest';
import { CronInstants, lastInstants } from '../../../../actors/platforms/schedule/cron-instants.ts';

/** Returns the instants that follow a time, as `MM-DDTHH:MM` in UTC. */
function next(cron: string, zone: string, after: string, count: number): string[] {
  const instants = new CronInstants(cron, zone);
  const instantsFound: string[] = [];
  let at = Date.parse(after);
  while (instantsFound.length < count) {
    const nextAt = instants.after(at);
    if (nextAt === undefined) break;
    at = nextAt;
    instantsFound.push(new Date(at).toISOString().slice(5, 16));
  }
  return instantsFound;
}

describe('at a forward clock change', () => {
  test.each([
    [
      'a skipped time is delayed by an hour',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-03-28T12:00Z',
      ['03-29T01:30', '03-30T00:30'],
    ],
    [
      'several skipped times are delayed',
      '*/30 2 * * *',
      'America/New_York',
      '2026-03-08T00:00Z',
      ['03-08T07:00', '03-08T07:30', '03-09T06:00'],
    ],
    [
      'a delayed time that equals another one counts once',
      '0 2,3 * * *',
      'Europe/Berlin',
      '2026-03-28T12:00Z',
      ['03-29T01:00', '03-30T00:00', '03-30T01:00'],
    ],
    [
      'an hourly job omits the skipped hour',
      '0 * * * *',
      'Europe/Berlin',
      '2026-03-29T00:00Z',
      ['03-29T01:00', '03-29T02:00'],
    ],
    [
      'midnight is delayed (node-schedule omits the day)',
      '0 0 * * *',
      'Africa/Cairo',
      '2026-04-23T12:00Z',
      ['04-23T22:00', '04-24T21:00'],
    ],
    [
      'a half-hour change delays by half an hour',
      '15 2 * * *',
      'Australia/Lord_Howe',
      '2026-10-03T12:00Z',
      ['10-03T15:45', '10-04T15:15'],
    ],
    [
      'a skipped day is delayed by a day',
      '0 12 30 12 *',
      'Pacific/Apia',
      '2011-12-01T00:00Z',
      ['12-30T22:00', '12-29T22:00'],
    ],
  ])('%s', (_, cron, zone, after, expected) => {
    expect(next(cron, zone, after, expected.length)).toEqual(expected);
  });
});

describe('at a backward clock change', () => {
  test.each([
    [
      'a repeated time counts once',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-10-24T12:00Z',
      ['10-25T00:30', '10-26T01:30'],
    ],
    [
      'a repeated time counts the first time',
      '*/30 2 * * *',
      'Europe/Berlin',
      '2026-10-24T12:00Z',
      ['10-25T00:00', '10-25T00:30', '10-26T01:00'],
    ],
    [
      'a repeated time does not count after its first occurrence',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-10-25T00:45Z',
      ['10-26T01:30'],
    ],
    [
      'an hourly job runs in both hours',
      '0 * * * *',
      'Europe/Berlin',
      '2026-10-24T23:30Z',
      ['10-25T00:00', '10-25T01:00', '10-25T02:00'],
    ],
    [
      'a half-hour change counts once (node-schedule fires twice)',
      '45 1 * * *',
      'Australia/Lord_Howe',
      '2026-04-04T12:00Z',
      ['04-04T14:45', '04-05T15:15'],
    ],
  ])('%s', (_, cron, zone, after, expected) => {
    expect(next(cron, zone, after, expected.length)).toEqual(expected);
  });
});

describe('the days of a cron schedule', () => {
  test.each([
    [
      'of month and week are alternatives',
      '0 0 13 * 5',
      ['11-27T00:00', '12-04T00:00', '12-11T00:00', '12-13T00:00'],
    ],
    ['of a whole week are every day', '0 0 1 * 0-6', ['11-22T00:00', '11-23T00:00']],
    ['on 29 February are in leap years', '0 0 29 2 *', ['02-29T00:00', '02-29T00:00']],
    ['and months can be names', '0 0 * JAN-FEB sun', ['01-03T00:00', '01-10T00:00']],
    ['with seconds have the given second', '30 0 0 * * *', ['11-22T00:00', '11-23T00:00']],
  ])('%s', (_, cron, expected) => {
    expect(next(cron, 'UTC', '2026-11-21T12:00Z', expected.length)).toEqual(expected);
  });

  test('that do not exist have no scheduled times', () => {
    expect(new CronInstants('0 0 30 2 *', 'UTC').after(0)).toBeUndefined();
  });

  test('on 29 February skip a year without leap day', () => {
    const at = new CronInstants('0 0 29 2 *', 'UTC').after(Date.UTC(2096, 1, 29));
    expect(at).toBe(Date.UTC(2104, 1, 29));
  });
});

describe('the last scheduled times of a period', () => {
  const to = Date.parse('2026-11-21T12:00:00Z');
  test('are in order, including the end of the period and excluding its start', () => {
    const minutes = new CronInstants('* * * * *', 'UTC');
    expect(lastInstants(minutes, to - 180_000, to, 10)).toEqual([to - 120_000, to - 60_000, to]);
    expect(lastInstants(minutes, to - 180_000, to, 2)).toEqual([to - 60_000, to]);
    expect(lastInstants(minutes, to, to, 2)).toEqual([]);
  });

  test('are found quickly after millions of earlier times', () => {
    const startedAt = performance.now();
    for (const zone of ['UTC', 'Europe/Berlin']) {
      const seconds = new CronInstants('* * * * * *', zone);
      expect(lastInstants(seconds, 0, Date.parse('2026-03-29T04:00Z'), 1_000)).toHaveLength(1_000);
    }
    expect(lastInstants(new CronInstants('0 0 29 2 *', 'UTC'), 0, to, 1)).toEqual([Date.UTC(2024, 1, 29)]);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});

test.each([
  ['0 9 * * 7', '2026-02-27T00:00Z', ['03-01T09:00', '03-08T09:00']],
  ['0 9 * * fri-sun', '2026-02-27T00:00Z', ['02-27T09:00', '02-28T09:00', '03-01T09:00', '03-06T09:00']],
  ['0 0 * * 5-7/2', '2026-02-27T01:00Z', ['03-01T00:00', '03-06T00:00', '03-08T00:00']],
  ['0 0 L * *', '2028-01-15T00:00Z', ['01-31T00:00', '02-29T00:00', '03-31T00:00', '04-30T00:00']],
  ['0 0 30,L 2,3 *', '2026-01-15T00:00Z', ['02-28T00:00', '03-30T00:00', '03-31T00:00']],
  ['0 0 * * friL', '2026-01-15T00:00Z', ['01-30T00:00', '02-27T00:00', '03-27T00:00']],
  ['0 0 L * 1', '2026-01-28T00:00Z', ['01-31T00:00', '02-02T00:00', '02-09T00:00']],
  ['@daily', '2026-01-15T12:00Z', ['01-16T00:00', '01-17T00:00']],
  ['@weekly', '2026-01-15T12:00Z', ['01-18T00:00', '01-25T00:00']],
  ['@hourly', '2026-01-15T12:30Z', ['01-15T13:00', '01-15T14:00']],
])('%s after %s occurs at %j', (cron, after, expected) => {
  expect(next(cron, 'UTC', after, expected.length)).toEqual(expected);
});
