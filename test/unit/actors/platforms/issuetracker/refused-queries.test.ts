// What an operator hears of queries that the tracker refuses for good.

import { beforeEach, expect, test } from 'vitest';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import { RefusedQueries } from '../../../../../actors/platforms/issuetracker/refused-queries.ts';

let said: unknown[];
let refused: RefusedQueries;
const log = { ...silentLog, warn: (fields: object) => void said.push(fields) };
const refusal = (reason: string, issue = 'TES-1') =>
  new DeliveryError(`whether ${issue} matches is not known`, { cause: new Error(reason) });

beforeEach(() => {
  said = [];
  refused = new RefusedQueries(log);
  refused.begin('a');
  refused.begin('b');
});

test('a reason is told once of each trigger, whatever issue was asked about (RQ1)', () => {
  for (const issue of ['TES-1', 'TES-2', 'TES-3']) refused.note('a', refusal('no such field', issue));
  refused.note('b', refusal('no such field'));
  expect(said).toEqual([
    { trigger: 'a', reason: 'no such field' },
    { trigger: 'b', reason: 'no such field' },
  ]);
  expect(refused.of('a')).toMatchObject([{ text: 'the tracker refuses jql_filter: no such field' }]);
});

test('another reason is told, and the same again of a trigger that was opened anew (RQ1)', () => {
  refused.note('a', refusal('no such field'));
  refused.note('a', refusal('no such project'));
  refused.begin('a');
  refused.note('a', refusal('no such project'));
  expect(said).toMatchObject([
    { reason: 'no such field' },
    { reason: 'no such project' },
    { reason: 'no such project' },
  ]);
});
