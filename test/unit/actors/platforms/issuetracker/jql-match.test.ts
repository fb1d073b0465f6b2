// Queries of Jira's match API: requests, refusals, verdicts about new events, and the cache of verdicts.

import { describe, expect, test } from 'vitest';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import { JqlMatch } from '../../../../../actors/platforms/issuetracker/jql-match.ts';
import type { ApiResponse } from '../../../../../libs/rest/http-api.ts';
import { RequestFault } from '../../../../../libs/rest/request-fault.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';
import { answerOf, requesterOf } from './tracker-answers.ts';

const issue = { id: '10040', key: 'TES-41', event: 'tracker:issue_created 1' };
const matches = (...all: readonly (readonly number[] | string)[]) =>
  answerOf(200, {
    matches: all.map((each) =>
      typeof each === 'string' ? { matchedIssues: [], errors: [each] } : { matchedIssues: each, errors: [] },
    ),
  });

async function errorOf(verdicts: Promise<unknown>): Promise<DeliveryError> {
  const fault = await verdicts.then(() => undefined).catch((error: unknown) => error);
  expect(fault).toBeInstanceOf(DeliveryError);
  return fault as DeliveryError;
}

describe('the tracker', () => {
  test('evaluates all JQL queries for an issue in one request, which has the numeric issue id', async () => {
    const { ask, requests } = requesterOf(matches([10040], [], [1, 10040]));
    const found = await new JqlMatch(ask, 'tracker.example', 'bot', new MemoryStore()).verdicts(issue, [
      'a',
      'b',
      'c',
    ]);
    expect(Object.fromEntries(found)).toEqual({ a: true, b: false, c: true });
    expect(requests).toEqual([
      {
        method: 'POST',
        path: '/rest/api/3/jql/match',
        json: { issueIds: [10040], jqls: ['a', 'b', 'c'] },
        timeoutMs: 10_000,
      },
    ]);
  });

  test('receives at most fifty queries per request', async () => {
    const queries = Array.from({ length: 120 }, (_, at) => `project = P${at}`);
    const { ask, requests } = requesterOf((request) =>
      matches(...(request.json as { jqls: readonly string[] }).jqls.map(() => [10040])),
    );
    const found = await new JqlMatch(ask, 'tracker.example', 'bot', new MemoryStore()).verdicts(
      issue,
      queries,
    );
    expect([...found.values()]).toEqual(queries.map(() => true));
    expect(requests).toHaveLength(3);
  });

  test('evaluates the other queries if it refuses one', async () => {
    const { ask } = requesterOf(matches([10040], "The value 'X' does not exist for the field 'project'."));
    const found = await new JqlMatch(ask, 'tracker.example', 'bot', new MemoryStore()).verdicts(issue, [
      'good',
      'bad',
    ]);
    expect(found.get('good')).toBe(true);
    const fault = found.get('bad') as DeliveryError;
    expect(fault).toMatchObject({ isFinal: true });
    expect(fault.message).toBe(
      "could not check whether TES-41 matches jql_filter: 400: The value 'X' does not exist for the field 'project'.",
    );
  });

  test('receives each query separately if it rejects all queries because of one', async () => {
    const bad = answerOf(400, { errorMessages: ['Error in the JQL Query'] });
    const { ask, requests } = requesterOf(bad, matches([10040]), bad);
    const found = await new JqlMatch(ask, 'tracker.example', 'bot', new MemoryStore()).verdicts(issue, [
      'good',
      'bad',
    ]);
    expect(found.get('good')).toBe(true);
    expect((found.get('bad') as DeliveryError).message).toContain('400: Error in the JQL Query');
    expect(requests).toHaveLength(3);
  });

  test.each([
    [401, { message: 'Client must be authenticated' }, '401: Client must be authenticated'],
    [403, {}, '403 not a response of the platform (from tracker.example)'],
    [404, { errorMessages: [] }, '404 not a response of the platform (from tracker.example)'],
  ])('refuses the account with %i, and every query fails without a retry', async (status, body, note) => {
    const { ask, requests } = requesterOf(answerOf(status, body));
    const found = await new JqlMatch(ask, 'tracker.example', 'bot', new MemoryStore()).verdicts(issue, [
      'a',
      'b',
    ]);
    for (const verdict of found.values()) {
      expect(verdict).toMatchObject({ isFinal: true, isOutcomeUnknown: false });
      expect((verdict as DeliveryError).message).toBe(
        `could not check whether TES-41 matches jql_filter: ${note}`,
      );
    }
    expect(found.size).toBe(2);
    expect(requests).toHaveLength(1);
  });

  test.each([
    ['returns an error', answerOf(500), { isRateLimited: false, isFinal: false }],
    ['returns an unexpected page', answerOf(200, 'a page'), { isRateLimited: false, isFinal: false }],
    ['returns too few verdicts', matches([]), { isRateLimited: false, isFinal: false }],
    [
      'requests a pause',
      answerOf(429, {}, { 'retry-after': '7' }),
      { isRateLimited: true, retryAfterMs: 7_000 },
    ],
    [
      'cannot be reached',
      new RequestFault('tracker.example refused the connection', {
        kind: 'unreachable',
        mayHaveArrived: false,
      }),
      { isFinal: false, isOutcomeUnknown: false },
    ],
    [
      'does not respond',
      new RequestFault('tracker.example gave no answer', { kind: 'timeout', mayHaveArrived: true }),
      { isFinal: false, isOutcomeUnknown: false },
    ],
  ])('%s, and the event is retried', async (_, answer, kind) => {
    const { ask } = requesterOf(answer);
    const fault = await errorOf(
      new JqlMatch(ask, 'tracker.example', 'bot', new MemoryStore()).verdicts(issue, ['a', 'b']),
    );
    expect(fault).toMatchObject(kind);
    expect(fault.message).toMatch(/^could not check whether TES-41 matches jql_filter: /);
  });

  test('receives a limited number of concurrent requests', async () => {
    let releaseResponses = () => {};
    const whenReleased = new Promise<void>((resolve) => {
      releaseResponses = resolve;
    });
    const match = new JqlMatch(
      async () => {
        await whenReleased;
        return matches([10040]);
      },
      'tracker.example',
      'bot',
      new MemoryStore(),
    );
    const others = Array.from({ length: 8 }, (_, at) =>
      match.verdicts({ ...issue, event: String(at) }, ['a']),
    );
    // All callers read the cache first.
    await Promise.resolve();
    await new Promise((done) => setTimeout(done, 0));
    const fault = await errorOf(match.verdicts(issue, ['a']));
    expect(fault).toMatchObject({ isRateLimited: true, isUncontacted: true, retryAfterMs: 1_000 });
    releaseResponses();
    expect((await Promise.all(others)).every((found) => found.get('a') === true)).toBe(true);
    expect((await match.verdicts(issue, ['a'])).get('a')).toBe(true);
  });
});

describe('a negative JQL match of a new event', () => {
  const fresh = { ...issue, isFresh: true };
  const found = (...ids: readonly string[]) => answerOf(200, { issues: ids.map((id) => ({ id })) });
  const verdict = async (answer: ApiResponse, query = 'a') => {
    const { ask, requests } = requesterOf(matches([]), answer);
    const verdicts = await new JqlMatch(ask, 'tracker.example', 'bot', new MemoryStore()).verdicts(fresh, [
      query,
    ]);
    return { verdict: verdicts.get(query), asked: requests[1]?.json };
  };

  test('is final unless a search for the issue finds it', async () => {
    expect((await verdict(found('10040'))).verdict).toBe(true);
    for (const answer of [found(), found('10041'), answerOf(400), answerOf(404), answerOf(200, 'a page')])
      expect((await verdict(answer)).verdict).toBe(false);
    const unavailable = errorOf(verdict(answerOf(503)));
    expect(await unavailable).toMatchObject({ isFinal: false });
  });

  test('is confirmed by a search with the query without its ORDER BY', async () => {
    const sentJql = async (query: string) => ((await verdict(found(), query)).asked as { jql: string }).jql;
    expect(await sentJql('priority = High ORDER BY created DESC')).toBe('(priority = High) AND id = 10040');
    expect(await sentJql('a = 1 or b = 2')).toBe('(a = 1 or b = 2) AND id = 10040');
    expect(await sentJql('summary ~ "put in order by hand"')).toBe(
      '(summary ~ "put in order by hand") AND id = 10040',
    );
  });
});

describe('the result of a JQL match', () => {
  test('is cached for a minute, for this event only', async () => {
    let now = 0;
    const { ask, requests } = requesterOf(matches([]));
    const match = new JqlMatch(ask, 'tracker.example', 'bot', new MemoryStore(), () => now);
    const count = async (more: Partial<typeof issue> = {}, query = 'a') => {
      await match.verdicts({ ...issue, ...more }, [query]);
      return requests.length;
    };
    expect([await count(), await count()]).toEqual([1, 1]);
    expect(await count({ event: 'tracker:issue_updated 2' })).toBe(2);
    expect(await count({ id: '10041' })).toBe(3);
    expect(await count({}, 'b')).toBe(4);
    now = 60_001;
    expect(await count()).toBe(5);
  });

  test('is stored for a day if it is positive, also for other processes', async () => {
    const store = new MemoryStore();
    const before = new JqlMatch(requesterOf(matches([10040], [])).ask, 'tracker.example', 'bot', store);
    await before.verdicts(issue, ['yes', 'no']);
    const { ask, requests } = requesterOf(matches([]));
    const after = new JqlMatch(ask, 'tracker.example', 'bot', store);
    expect(Object.fromEntries(await after.verdicts(issue, ['yes', 'no']))).toEqual({ yes: true, no: false });
    expect(requests).toMatchObject([{ json: { jqls: ['no'] } }]);
  });

  test('is not cached if the event has no identity', async () => {
    const { ask, requests } = requesterOf(matches([10040]));
    const match = new JqlMatch(ask, 'tracker.example', 'bot', new MemoryStore());
    for (let count = 0; count < 2; count += 1) await match.verdicts({ ...issue, event: undefined }, ['a']);
    expect(requests).toHaveLength(2);
  });
});
