import { expect, test } from 'vitest';
import { deliveryFilter } from '../../../../../actors/automation/operator/delivery-query.ts';

const now = Date.parse('2026-11-21T12:00:00Z');

test.each([
  ['http/alerts/shop', 'conversation/http/alerts/shop'],
  ['conversation/http/alerts/shop', 'conversation/http/alerts/shop'],
  ['outbox/repohost/', 'outbox/repohost/'],
  ['run/7', 'run/7'],
  ['htt', 'conversation/htt'],
])('the conversation filter of deliveries accepts a conversation name or a stored key: %s', (filter, key) => {
  expect(deliveryFilter(`conversation=${filter}`, now)).toEqual({ limit: 50, keyPrefix: key });
});

test('the filter `since` of deliveries accepts a timestamp or an age', () => {
  expect(deliveryFilter('since=2026-11-21T10:00:00Z', now).since).toBe(now - 7_200_000);
  expect(deliveryFilter('since=15m', now).since).toBe(now - 900_000);
  expect(() => deliveryFilter('since=yesterday', now)).toThrow(/since should be a time/);
});

test.each(['http', 'HTTP', 'RepoHost', 'Schedule', 'manual'])(
  'the source filter of deliveries accepts an id prefix or a trigger type: %s',
  (source) => {
    expect(deliveryFilter(`source=${source}`, now).idPrefix).toBe(`${source.toLowerCase()}:`);
  },
);

test.each([
  ['stat=dead', /unknown parameter "stat"; valid parameters: state, trigger/],
  ['state=dead,gone', /unknown value "gone"; valid values: queued, running/],
  ['source=x', /source: unknown value "x"; valid values: .*repohost, .*http, schedule, manual, outbox$/],
  ['source=incidents', /unknown value "incidents"/],
  ['source=', /source: unknown value ""/],
  ['limit=1001', /limit should be a whole number from 1 to 1000/],
  ['before=-1', /before should be a whole number/],
])('an invalid filter of deliveries is refused with the valid values: %s', (query, message) => {
  expect(() => deliveryFilter(query, now)).toThrow(message);
});
