// What an operator asks of the deliveries, as text.

import { expect, test } from 'vitest';
import { deliveryFilter } from '../../../../../actors/automation/operator/delivery-query.ts';

const now = Date.parse('2026-11-21T12:00:00Z');

test.each([
  ['http/alerts/shop', 'conversation/http/alerts/shop'],
  ['conversation/http/alerts/shop', 'conversation/http/alerts/shop'],
  ['outbox/repohost/', 'outbox/repohost/'],
  ['run/7', 'run/7'],
  ['htt', 'conversation/htt'],
])(
  'a conversation is found by the agents’ word for it and by the key that records show: %s',
  (asked, key) => {
    expect(deliveryFilter(`conversation=${asked}`, now)).toEqual({ limit: 50, keyPrefix: key });
  },
);

test('a time is one of the calendar, or a while ago', () => {
  expect(deliveryFilter('since=2026-11-21T10:00:00Z', now).since).toBe(now - 7_200_000);
  expect(deliveryFilter('since=15m', now).since).toBe(now - 900_000);
  expect(() => deliveryFilter('since=yesterday', now)).toThrow(/since should be a time/);
});

test.each(['http', 'HTTP', 'RepoHost', 'Schedule', 'manual'])(
  'a source is known by its word and by the type of its triggers: %s',
  (source) => {
    expect(deliveryFilter(`source=${source}`, now).idPrefix).toBe(`${source.toLowerCase()}:`);
  },
);

test.each([
  ['stat=dead', /there is no parameter "stat"; there are state, trigger/],
  ['state=dead,gone', /there is no "gone"; there are queued, running/],
  ['source=x', /source: there is no "x"; there are .*repohost, .*http, schedule, manual, outbox$/],
  ['source=incidents', /there is no "incidents"/],
  ['source=', /source: there is no ""/],
  ['limit=1001', /limit should be a whole number from 1 to 1000/],
  ['before=-1', /before should be a whole number/],
])('what cannot be is refused with what can: %s', (query, message) => {
  expect(() => deliveryFilter(query, now)).toThrow(message);
});
