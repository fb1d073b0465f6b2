// Whether an issue matches a query of the tracker: only the tracker can say that, and is asked when an event is handled.
//
// JQ1  what it has said holds for the event it was asked about: for a while in memory, and a yes in the store, so that an agent whose
//      own work takes the issue out of the query is not cut off at its next attempt.
// JQ2  a query that the tracker refuses is refused for good, and says so for itself alone; what cannot be found out now rejects, and
//      is asked again with the event. Nothing counts as a match that the tracker has not called one.
// JQ3  the tracker's search may be behind by some seconds, and then knows nothing of what an event tells. So a no to an event that has
//      just happened is asked for once more, of the search that first looks at the issue itself; where that is refused the no stands.
// JQ4  every question has a deadline, and so many at most are under way; who comes beyond that comes again.

import { createHash } from 'node:crypto';
import { forgetOldest } from '../../base/bounds/forget-oldest.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { Store } from '../../store/store.ts';
import { memberOf } from '../payloads/payload-member.ts';
import { type AskTracker, TrackerQuestion } from './question.ts';

const SPACE = 'issuetracker-matches';
/** As long as an event may be tried. */
const KEPT_MS = 86_400_000;
const REMEMBERED_MS = 60_000;
const MAX_REMEMBERED = 2_000;
const MAX_AT_ONCE = 8;
const COME_AGAIN_MS = 1_000;
/** The vendor takes more; so many triggers of one tracker have queries of their own rarely. */
const MAX_QUERIES = 50;

/** Of a query, outside of quotation marks. */
const ORDER = /\s+order\s+by\s+[^"']*$/i;

export interface IssueAsked {
  /** The tracker's number for it. */
  readonly id: string;
  /** For people, in notes. */
  readonly key: string;
  /** Tells the event from others about the issue; undefined where nothing does, and nothing is remembered then. */
  readonly event: string | undefined;
  /** What the event tells has just happened. */
  readonly isFresh?: boolean;
}

/** Whether it matches, or why the tracker will never say so. */
export type Verdict = boolean | DeliveryError;

/** For one account at a tracker. */
export class JqlMatch {
  readonly #ask: AskTracker;
  readonly #host: string;
  readonly #account: string;
  readonly #store: Pick<Store, 'get' | 'put'>;
  readonly #now: () => number;
  readonly #remembered = new Map<string, { readonly isMatch: boolean; readonly until: number }>();
  #underWay = 0;

  /**
   * `host` is the name of the tracker in notes. `account` separates the rows of accounts in the store, which contain positive
   * results. `now` returns monotonic milliseconds.
   */
  constructor(
    ask: AskTracker,
    host: string,
    account: string,
    store: Pick<Store, 'get' | 'put'>,
    now: () => number = () => performance.now(),
  ) {
    this.#ask = ask;
    this.#host = host;
    this.#account = account;
    this.#store = store;
    this.#now = now;
  }

  /** By query. Rejects with a DeliveryError while it cannot be found out. */
  async verdicts(issue: IssueAsked, queries: readonly string[]): Promise<ReadonlyMap<string, Verdict>> {
    const found = new Map<string, Verdict>();
    for (const query of queries) {
      const before = await this.#before(issue, query);
      if (before !== undefined) found.set(query, before);
    }
    const open = queries.filter((query) => !found.has(query));
    for (let at = 0; at < open.length; at += MAX_QUERIES)
      for (const [query, verdict] of await this.#asked(issue, open.slice(at, at + MAX_QUERIES))) {
        found.set(query, verdict);
        if (typeof verdict === 'boolean') await this.#remember(issue, query, verdict);
      }
    return found;
  }

  async #asked(issue: IssueAsked, queries: readonly string[]): Promise<ReadonlyMap<string, Verdict>> {
    if (this.#underWay >= MAX_AT_ONCE)
      throw new DeliveryError(`${this.#host} is asked about as many issues as it may be at once`, {
        isTooSoon: true,
        isUnasked: true,
        retryAfterMs: COME_AGAIN_MS,
      });
    this.#underWay += 1;
    try {
      const found = new Map(await this.#question(issue, queries));
      for (const [query, verdict] of found)
        if (verdict === false && issue.isFresh === true) found.set(query, await this.#searched(issue, query));
      return found;
    } finally {
      this.#underWay -= 1;
    }
  }

  async #question(issue: IssueAsked, queries: readonly string[]): Promise<ReadonlyMap<string, Verdict>> {
    const question = new TrackerQuestion(this.#ask, `whether ${issue.key} matches jql_filter`);
    const answer = await question.asked({
      method: 'POST',
      path: '/rest/api/3/jql/match',
      json: { issueIds: [numberOf(issue.id)], jqls: queries },
    });
    const matches = answer.isOk ? memberOf(answer.json, 'matches') : undefined;
    if (Array.isArray(matches) && matches.length === queries.length)
      return new Map(queries.map((query, at) => [query, verdictIn(matches[at], issue.id, question)]));
    const fault = question.faultOf(answer);
    if (!fault.isFinal) throw fault;
    // Which of them it does not take is found out one by one.
    if (answer.status !== 400 || queries.length === 1) return new Map(queries.map((query) => [query, fault]));
    const all = new Map<string, Verdict>();
    for (const query of queries)
      for (const [each, verdict] of await this.#question(issue, [query])) all.set(each, verdict);
    return all;
  }

  /** By the search that looks at the issue itself before it answers. */
  async #searched({ id, key }: IssueAsked, query: string): Promise<boolean> {
    const question = new TrackerQuestion(this.#ask, `whether ${key} matches jql_filter`);
    const jql = `(${query.replace(ORDER, '')}) AND id = ${id}`;
    const answer = await question.asked({
      method: 'POST',
      path: '/rest/api/3/search/jql',
      json: { jql, reconcileIssues: [numberOf(id)], maxResults: 1, fields: ['id'] },
    });
    const issues = answer.isOk ? memberOf(answer.json, 'issues') : undefined;
    if (Array.isArray(issues)) return issues.some((each) => String(memberOf(each, 'id')) === id);
    const fault = question.faultOf(answer);
    if (answer.isOk || fault.isFinal) return false;
    throw fault;
  }

  async #before(issue: IssueAsked, query: string): Promise<boolean | undefined> {
    const key = keyOf(issue, query);
    if (key === undefined) return undefined;
    const before = this.#remembered.get(key);
    if (before !== undefined && before.until > this.#now()) return before.isMatch;
    return (await this.#store.get(SPACE, this.#stored(key))) === undefined ? undefined : true;
  }

  async #remember(issue: IssueAsked, query: string, isMatch: boolean): Promise<void> {
    const key = keyOf(issue, query);
    if (key === undefined) return;
    this.#remembered.delete(key);
    this.#remembered.set(key, { isMatch, until: this.#now() + REMEMBERED_MS });
    forgetOldest(this.#remembered, MAX_REMEMBERED);
    if (isMatch) await this.#store.put(SPACE, this.#stored(key), '', { ttlMs: KEPT_MS });
  }

  #stored(key: string): string {
    return createHash('sha256').update(`${this.#account}\n${key}`).digest('hex');
  }
}

/** As the tracker wants it. */
function numberOf(id: string): number | string {
  const number = Number(id);
  return Number.isSafeInteger(number) ? number : id;
}

function keyOf({ id, event }: IssueAsked, query: string): string | undefined {
  return event === undefined ? undefined : `${id}\n${event}\n${query}`;
}

/** What the tracker says of one query. */
function verdictIn(match: unknown, id: string, question: TrackerQuestion): Verdict {
  const faults = memberOf(match, 'errors');
  if (Array.isArray(faults) && faults.length > 0)
    return question.fault({ status: 400, text: faults.map(String).join('; ') });
  const matched = memberOf(match, 'matchedIssues');
  return Array.isArray(matched) && matched.some((each) => String(each) === id);
}
