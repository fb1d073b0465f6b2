import { beforeEach, expect, test } from 'vitest';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import { RefusedQueries } from '../../../../../actors/platforms/issuetracker/refused-queries.ts';

let warnings: unknown[];
let refusedQueries: RefusedQueries;
const log = { ...silentLog, warn: (fields: object) => void warnings.push(fields) };
const refusal = (reason: string, issue = 'TES-1') =>
  new DeliveryError(`could not check ${issue}`, { cause: new Error(reason) });

beforeEach(() => {
  warnings = [];
  refusedQueries = new RefusedQueries(log);
  refusedQueries.begin('a');
  refusedQueries.begin('b');
});

test('if the tracker refuses the query of a trigger, the reason is reported once, not for each issue', () => {
  for (const issue of ['TES-1', 'TES-2', 'TES-3'])
    refusedQueries.report('a', refusal('unknown field', issue));
  refusedQueries.report('b', refusal('unknown field'));
  expect(warnings).toEqual([
    { trigger: 'a', reason: 'unknown field' },
    { trigger: 'b', reason: 'unknown field' },
  ]);
  expect(refusedQueries.of('a')).toMatchObject([{ text: 'the tracker refuses jql_filter: unknown field' }]);
});

test('a new reason for a refused query is reported, and a known reason is reported again after a trigger restart', () => {
  refusedQueries.report('a', refusal('unknown field'));
  refusedQueries.report('a', refusal('unknown project'));
  refusedQueries.begin('a');
  refusedQueries.report('a', refusal('unknown project'));
  expect(warnings).toMatchObject([
    { reason: 'unknown field' },
    { reason: 'unknown project' },
    { reason: 'unknown project' },
  ]);
});
