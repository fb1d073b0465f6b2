import { describe, expect, test } from 'vitest';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';
import { JqlMatch } from '../../../../../actors/platforms/issuetracker/jql-match.ts';
import type { ApiAnswer } from '../../../../../libs/rest/http-api.ts';
import { RequestFault } from '../../../../../libs/rest/request-fault.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';
import { answerOf, askedOf } from './tracker-answers.ts';

const issue = { id: '10040', key: 'TES-41', event: 'tracker:issue_created 1' };
const matches = (...all: readonly (readonly number[] | string)[]) =>
  answerOf(200, {
    matches: all.map((each) =>
      typeof each === 'string' ? { matchedIssues: [], errors: [each] } : { matchedIssues: each, errors: [] },
    ),
  });

async function faultOf(verdicts: Promise<unknown>): Promise<DeliveryError> {
  const fault = await verdicts.then(() => undefined).catch((error: unknown) => error);
  expect(fault).toBeInstanceOf(DeliveryError);
  return fault as DeliveryError;
}

describe('the tracker', () => {
  test('is asked for all queries at once, by the number of the issue (JQ4)', async () => {
    const { ask, requests } = askedOf(matches([10040], [], [1, 10040]));
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

  test('is asked for fifty at a time', async () => {
    const queries = Array.from({ length: 120 }, (_, at) => `project = P${at}`);
    const { ask, requests } = askedOf((request) =>
      matches(...(request.json as { jqls: readonly string[] }).jqls.map(() => [10040])),
    );
    const found = await new JqlMatch(ask, 'tracker.example', 'bot', new MemoryStore()).verdicts(
      issue,
      queries,
    );
    expect([...found.values()]).toEqual(queries.map(() => true));
    expect(requests).toHaveLength(3);
  });

  test('refuses one query, and says what of the others (JQ2)', async () => {
    const { ask } = askedOf(matches([10040], "The value 'X' does not exist for the field 'project'."));
    const found = await new JqlMatch(ask, 'tracker.example', 'bot', new MemoryStore()).verdicts(issue, [
      'good',
      'bad',
    ]);
    expect(found.get('good')).toBe(true);
    const fault = found.get('bad') as DeliveryError;
    expect(fault).toMatchObject({ isFinal: true });
    expect(fault.message).toBe(
      "whether TES-41 matches jql_filter is not known: 400: The value 'X' does not exist for the field 'project'.",
    );
  });

  test('refuses all for one of them: it is asked one by one', async () => {
    const bad = answerOf(400, { errorMessages: ['Error in the JQL Query'] });
    const { ask, requests } = askedOf(bad, matches([10040]), bad);
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
    [403, {}, '403 without an answer of the platform (from tracker.example)'],
    [404, { errorMessages: [] }, '404 without an answer of the platform (from tracker.example)'],
  ])('refuses the account for good with %i', async (status, body, note) => {
    const { ask, requests } = askedOf(answerOf(status, body));
    const found = await new JqlMatch(ask, 'tracker.example', 'bot', new MemoryStore()).verdicts(issue, [
      'a',
      'b',
    ]);
    for (const verdict of found.values()) {
      expect(verdict).toMatchObject({ isFinal: true, isOutcomeUnknown: false });
      expect((verdict as DeliveryError).message).toBe(
        `whether TES-41 matches jql_filter is not known: ${note}`,
      );
    }
    expect(found.size).toBe(2);
    expect(requests).toHaveLength(1);
  });

  test.each([
    ['fails', answerOf(500), { isTooSoon: false, isFinal: false }],
    ['answers something else', answerOf(200, 'a page'), { isTooSoon: false, isFinal: false }],
    ['answers for fewer queries', matches([]), { isTooSoon: false, isFinal: false }],
    ['asks for a pause', answerOf(429, {}, { 'retry-after': '7' }), { isTooSoon: true, retryAfterMs: 7_000 }],
    [
      'cannot be reached',
      new RequestFault('tracker.example refused the connection', {
        kind: 'unreachable',
        mayHaveArrived: false,
      }),
      { isFinal: false, isOutcomeUnknown: false },
    ],
    [
      'hangs',
      new RequestFault('tracker.example gave no answer', { kind: 'timeout', mayHaveArrived: true }),
      { isFinal: false, isOutcomeUnknown: false },
    ],
  ])('%s: the event is to come again (JQ2)', async (_, answer, kind) => {
    const { ask } = askedOf(answer);
    const fault = await faultOf(
      new JqlMatch(ask, 'tracker.example', 'bot', new MemoryStore()).verdicts(issue, ['a', 'b']),
    );
    expect(fault).toMatchObject(kind);
    expect(fault.message).toMatch(/^whether TES-41 matches jql_filter is not known: /);
  });

  test('is asked so many questions at once, and no more (JQ4)', async () => {
    let answer = () => {};
    const asked = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const match = new JqlMatch(
      async () => {
        await asked;
        return matches([10040]);
      },
      'tracker.example',
      'bot',
      new MemoryStore(),
    );
    const others = Array.from({ length: 8 }, (_, at) =>
      match.verdicts({ ...issue, event: String(at) }, ['a']),
    );
    // Each looks first what is known.
    await Promise.resolve();
    await new Promise((done) => setTimeout(done, 0));
    const fault = await faultOf(match.verdicts(issue, ['a']));
    expect(fault).toMatchObject({ isTooSoon: true, isUnasked: true, retryAfterMs: 1_000 });
    answer();
    expect((await Promise.all(others)).every((found) => found.get('a') === true)).toBe(true);
    expect((await match.verdicts(issue, ['a'])).get('a')).toBe(true);
  });
});

describe('a no to what has just happened', () => {
  const fresh = { ...issue, isFresh: true };
  const found = (...ids: readonly string[]) => answerOf(200, { issues: ids.map((id) => ({ id })) });
  const verdict = async (answer: ApiAnswer, query = 'a') => {
    const { ask, requests } = askedOf(matches([]), answer);
    const verdicts = await new JqlMatch(ask, 'tracker.example', 'bot', new MemoryStore()).verdicts(fresh, [
      query,
    ]);
    return { verdict: verdicts.get(query), asked: requests[1]?.json };
  };

  test('is no where the search says so, or has nothing to say (JQ3)', async () => {
    expect((await verdict(found('10040'))).verdict).toBe(true);
    for (const answer of [found(), found('10041'), answerOf(400), answerOf(404), answerOf(200, 'a page')])
      expect((await verdict(answer)).verdict).toBe(false);
    const away = faultOf(verdict(answerOf(503)));
    expect(await away).toMatchObject({ isFinal: false });
  });

  test('is asked about without the order of the query', async () => {
    const asked = async (query: string) => ((await verdict(found(), query)).asked as { jql: string }).jql;
    expect(await asked('priority = High ORDER BY created DESC')).toBe('(priority = High) AND id = 10040');
    expect(await asked('a = 1 or b = 2')).toBe('(a = 1 or b = 2) AND id = 10040');
    expect(await asked('summary ~ "put in order by hand"')).toBe(
      '(summary ~ "put in order by hand") AND id = 10040',
    );
  });
});

describe('what was said', () => {
  test('holds for a minute for the event, and for no other (JQ1)', async () => {
    let now = 0;
    const { ask, requests } = askedOf(matches([]));
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

  test('holds a day where it was yes, also in another process: work on an issue may take it out of a query (JQ1)', async () => {
    const store = new MemoryStore();
    const before = new JqlMatch(askedOf(matches([10040], [])).ask, 'tracker.example', 'bot', store);
    await before.verdicts(issue, ['yes', 'no']);
    const { ask, requests } = askedOf(matches([]));
    const after = new JqlMatch(ask, 'tracker.example', 'bot', store);
    expect(Object.fromEntries(await after.verdicts(issue, ['yes', 'no']))).toEqual({ yes: true, no: false });
    expect(requests).toMatchObject([{ json: { jqls: ['no'] } }]);
  });

  test('of an event that nothing tells from others is not remembered', async () => {
    const { ask, requests } = askedOf(matches([10040]));
    const match = new JqlMatch(ask, 'tracker.example', 'bot', new MemoryStore());
    for (let count = 0; count < 2; count += 1) await match.verdicts({ ...issue, event: undefined }, ['a']);
    expect(requests).toHaveLength(2);
  });
});
