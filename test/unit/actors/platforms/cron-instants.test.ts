// The instants of cron expressions where clocks change: what holds by design, in words, beside what other programs do.

import { describe, expect, test } from 'vitest';
import { CronInstants, lastInstants } from '../../../../actors/platforms/schedule/cron-instants.ts';

/** The next instants after a time, as `MM-DDTHH:MM` in UTC. */
function next(cron: string, zone: string, after: string, count: number): string[] {
  const instants = new CronInstants(cron, zone);
  const found: string[] = [];
  let at = Date.parse(after);
  while (found.length < count) {
    const following = instants.after(at);
    if (following === undefined) break;
    at = following;
    found.push(new Date(at).toISOString().slice(5, 16));
  }
  return found;
}

describe('where the clocks go forward', () => {
  test.each([
    [
      'a time that is skipped comes an hour later',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-03-28T12:00Z',
      ['03-29T01:30', '03-30T00:30'],
    ],
    [
      'and so do several',
      '*/30 2 * * *',
      'America/New_York',
      '2026-03-08T00:00Z',
      ['03-08T07:00', '03-08T07:30', '03-09T06:00'],
    ],
    [
      'but once, when it meets one that comes anyway',
      '0 2,3 * * *',
      'Europe/Berlin',
      '2026-03-28T12:00Z',
      ['03-29T01:00', '03-30T00:00', '03-30T01:00'],
    ],
    [
      'a job of each hour leaves it out',
      '0 * * * *',
      'Europe/Berlin',
      '2026-03-29T00:00Z',
      ['03-29T01:00', '03-29T02:00'],
    ],
    [
      'midnight is not lost (node-schedule loses the day)',
      '0 0 * * *',
      'Africa/Cairo',
      '2026-04-23T12:00Z',
      ['04-23T22:00', '04-24T21:00'],
    ],
    [
      'half an hour is skipped by half an hour',
      '15 2 * * *',
      'Australia/Lord_Howe',
      '2026-10-03T12:00Z',
      ['10-03T15:45', '10-04T15:15'],
    ],
    [
      'a day that was never there comes a day later',
      '0 12 30 12 *',
      'Pacific/Apia',
      '2011-12-01T00:00Z',
      ['12-30T22:00', '12-29T22:00'],
    ],
  ])('%s', (_, cron, zone, after, expected) => {
    expect(next(cron, zone, after, expected.length)).toEqual(expected);
  });
});

describe('where the clocks go back', () => {
  test.each([
    [
      'a time that comes twice counts once',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-10-24T12:00Z',
      ['10-25T00:30', '10-26T01:30'],
    ],
    [
      'the first time',
      '*/30 2 * * *',
      'Europe/Berlin',
      '2026-10-24T12:00Z',
      ['10-25T00:00', '10-25T00:30', '10-26T01:00'],
    ],
    [
      'and not at all for who asks between the two',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-10-25T00:45Z',
      ['10-26T01:30'],
    ],
    [
      'a job of each hour takes both',
      '0 * * * *',
      'Europe/Berlin',
      '2026-10-24T23:30Z',
      ['10-25T00:00', '10-25T01:00', '10-25T02:00'],
    ],
    [
      'half an hour twice counts once (node-schedule fires twice)',
      '45 1 * * *',
      'Australia/Lord_Howe',
      '2026-04-04T12:00Z',
      ['04-04T14:45', '04-05T15:15'],
    ],
  ])('%s', (_, cron, zone, after, expected) => {
    expect(next(cron, zone, after, expected.length)).toEqual(expected);
  });
});

describe('days', () => {
  test.each([
    [
      'of the month or of the week: either will do',
      '0 0 13 * 5',
      ['11-27T00:00', '12-04T00:00', '12-11T00:00', '12-13T00:00'],
    ],
    ['with a list of the whole week: every day', '0 0 1 * 0-6', ['11-22T00:00', '11-23T00:00']],
    ['29 February', '0 0 29 2 *', ['02-29T00:00', '02-29T00:00']],
    ['by words', '0 0 * JAN-FEB sun', ['01-03T00:00', '01-10T00:00']],
    ['with seconds', '30 0 0 * * *', ['11-22T00:00', '11-23T00:00']],
  ])('%s', (_, cron, expected) => {
    expect(next(cron, 'UTC', '2026-11-21T12:00Z', expected.length)).toEqual(expected);
  });

  test('that never come are none', () => {
    expect(new CronInstants('0 0 30 2 *', 'UTC').after(0)).toBeUndefined();
  });

  test('come over a century without 29 February', () => {
    const at = new CronInstants('0 0 29 2 *', 'UTC').after(Date.UTC(2096, 1, 29));
    expect(at).toBe(Date.UTC(2104, 1, 29));
  });
});

describe('the last instants of a span', () => {
  const to = Date.parse('2026-11-21T12:00:00Z');
  test('are in order, and include its end but not its beginning', () => {
    const minutes = new CronInstants('* * * * *', 'UTC');
    expect(lastInstants(minutes, to - 180_000, to, 10)).toEqual([to - 120_000, to - 60_000, to]);
    expect(lastInstants(minutes, to - 180_000, to, 2)).toEqual([to - 60_000, to]);
    expect(lastInstants(minutes, to, to, 2)).toEqual([]);
  });

  test('are found quickly although millions were before them', () => {
    const began = performance.now();
    for (const zone of ['UTC', 'Europe/Berlin']) {
      const seconds = new CronInstants('* * * * * *', zone);
      expect(lastInstants(seconds, 0, Date.parse('2026-03-29T04:00Z'), 1_000)).toHaveLength(1_000);
    }
    expect(lastInstants(new CronInstants('0 0 29 2 *', 'UTC'), 0, to, 1)).toEqual([Date.UTC(2024, 1, 29)]);
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});
