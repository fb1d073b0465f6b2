// Checks at the tracker if an issue matches a query (JQL). Called when the event is handled.
//
// - A result is valid for one event. It is cached for a while. A match is also stored: if an agent moves the
//   issue out of the query, the event must still match at its next attempt.
// - If the tracker refuses a query, only the triggers with that query fail. After any other failure the check
//   rejects, and the event is retried. Only the tracker can decide that an issue matches.
// - The tracker's index may lag by seconds. A negative result for a recent event is therefore repeated with
//   the search that updates the issue's index entry first.
// - Requests have a deadline and limited concurrency. Above the limit the event is retried.

import { createHash } from 'node:crypto';
import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { Store } from '../../store/store.ts';
import { memberOf } from '../payloads/payload-member.ts';
import { type SendTrackerRequest, TrackerLookup } from './tracker-lookup.ts';

const SPACE = 'issuetracker-matches';
/** Lifetime of stored matches: the maximum time in which an event is retried. */
const STORED_MS = 86_400_000;
const CACHED_MS = 60_000;
const MAX_CACHED = 2_000;
const MAX_CONCURRENT = 8;
const RETRY_MS = 1_000;
/**
 * Maximum number of queries per request. The vendor's limit is higher, but a tracker rarely has more
 * different queries.
 */
const MAX_QUERIES = 50;

/** Matches a trailing ORDER BY outside quotation marks. */
const ORDER = /\s+order\s+by\s+[^"']*$/i;

export interface CheckedIssue {
  /** Id of the issue at the tracker. */
  readonly id: string;
  /** Issue key, for notes. */
  readonly key: string;
  /** Identifies the event among events of the issue. With undefined, results are not cached. */
  readonly event: string | undefined;
  /** True if the event is recent. */
  readonly isFresh?: boolean;
}

/** Result for a query, or the query's final error. */
export type MatchResult = boolean | DeliveryError;

/** Query checks in the name of a tracker account. */
export class JqlMatch {
  readonly #sendRequest: SendTrackerRequest;
  readonly #host: string;
  readonly #account: string;
  readonly #store: Pick<Store, 'get' | 'put'>;
  readonly #now: () => number;
  readonly #cache = new Map<string, { readonly isMatch: boolean; readonly until: number }>();
  #runningChecks = 0;

  /**
   * `host` names the tracker in notes. `account` separates the stored matches of different accounts. `now`
   * returns monotonic milliseconds.
   */
  constructor(
    sendRequest: SendTrackerRequest,
    host: string,
    account: string,
    store: Pick<Store, 'get' | 'put'>,
    now: () => number = () => performance.now(),
  ) {
    this.#sendRequest = sendRequest;
    this.#host = host;
    this.#account = account;
    this.#store = store;
    this.#now = now;
  }

  /** Returns the results by query. Rejects with a DeliveryError if a check fails temporarily. */
  async verdicts(issue: CheckedIssue, queries: readonly string[]): Promise<ReadonlyMap<string, MatchResult>> {
    const results = new Map<string, MatchResult>();
    for (const query of queries) {
      const cached = await this.#cachedMatch(issue, query);
      if (cached !== undefined) results.set(query, cached);
    }
    const unchecked = queries.filter((query) => !results.has(query));
    for (let at = 0; at < unchecked.length; at += MAX_QUERIES)
      for (const [query, verdict] of await this.#check(issue, unchecked.slice(at, at + MAX_QUERIES))) {
        results.set(query, verdict);
        if (typeof verdict === 'boolean') await this.#remember(issue, query, verdict);
      }
    return results;
  }

  async #check(issue: CheckedIssue, queries: readonly string[]): Promise<ReadonlyMap<string, MatchResult>> {
    if (this.#runningChecks >= MAX_CONCURRENT)
      throw new DeliveryError(`${this.#host}: too many concurrent jql_filter checks`, {
        isRateLimited: true,
        isUncontacted: true,
        retryAfterMs: RETRY_MS,
      });
    this.#runningChecks += 1;
    try {
      const results = new Map(await this.#match(issue, queries));
      for (const [query, verdict] of results)
        if (verdict === false && issue.isFresh === true) results.set(query, await this.#search(issue, query));
      return results;
    } finally {
      this.#runningChecks -= 1;
    }
  }

  async #match(issue: CheckedIssue, queries: readonly string[]): Promise<ReadonlyMap<string, MatchResult>> {
    const lookup = new TrackerLookup(this.#sendRequest, `check whether ${issue.key} matches jql_filter`);
    const response = await lookup.send({
      method: 'POST',
      path: '/rest/api/3/jql/match',
      json: { issueIds: [numberOf(issue.id)], jqls: queries },
    });
    const matches = response.isOk ? memberOf(response.json, 'matches') : undefined;
    if (Array.isArray(matches) && matches.length === queries.length)
      return new Map(queries.map((query, at) => [query, verdictIn(matches[at], issue.id, lookup)]));
    const fault = lookup.faultOf(response);
    if (!fault.isFinal) throw fault;
    // Checks the queries one by one, to find the refused one.
    if (response.status !== 400 || queries.length === 1)
      return new Map(queries.map((query) => [query, fault]));
    const all = new Map<string, MatchResult>();
    for (const query of queries)
      for (const [each, verdict] of await this.#match(issue, [query])) all.set(each, verdict);
    return all;
  }

  /** Checks a query by the search that updates the issue's index entry first. */
  async #search({ id, key }: CheckedIssue, query: string): Promise<boolean> {
    const lookup = new TrackerLookup(this.#sendRequest, `check whether ${key} matches jql_filter`);
    const jql = `(${query.replace(ORDER, '')}) AND id = ${id}`;
    const response = await lookup.send({
      method: 'POST',
      path: '/rest/api/3/search/jql',
      json: { jql, reconcileIssues: [numberOf(id)], maxResults: 1, fields: ['id'] },
    });
    const issues = response.isOk ? memberOf(response.json, 'issues') : undefined;
    if (Array.isArray(issues)) return issues.some((each) => String(memberOf(each, 'id')) === id);
    const fault = lookup.faultOf(response);
    if (response.isOk || fault.isFinal) return false;
    throw fault;
  }

  async #cachedMatch(issue: CheckedIssue, query: string): Promise<boolean | undefined> {
    const key = keyOf(issue, query);
    if (key === undefined) return undefined;
    const cached = this.#cache.get(key);
    if (cached !== undefined && cached.until > this.#now()) return cached.isMatch;
    return (await this.#store.get(SPACE, this.#storeKey(key))) === undefined ? undefined : true;
  }

  async #remember(issue: CheckedIssue, query: string, isMatch: boolean): Promise<void> {
    const key = keyOf(issue, query);
    if (key === undefined) return;
    this.#cache.delete(key);
    this.#cache.set(key, { isMatch, until: this.#now() + CACHED_MS });
    deleteOldest(this.#cache, MAX_CACHED);
    if (isMatch) await this.#store.put(SPACE, this.#storeKey(key), '', { ttlMs: STORED_MS });
  }

  #storeKey(key: string): string {
    return createHash('sha256').update(`${this.#account}\n${key}`).digest('hex');
  }
}

/** Converts an id to the number that the tracker expects. */
function numberOf(id: string): number | string {
  const number = Number(id);
  return Number.isSafeInteger(number) ? number : id;
}

function keyOf({ id, event }: CheckedIssue, query: string): string | undefined {
  return event === undefined ? undefined : `${id}\n${event}\n${query}`;
}

/** Reads a query result. */
function verdictIn(match: unknown, id: string, lookup: TrackerLookup): MatchResult {
  const faults = memberOf(match, 'errors');
  if (Array.isArray(faults) && faults.length > 0)
    return lookup.fault({ status: 400, text: faults.map(String).join('; ') });
  const matched = memberOf(match, 'matchedIssues');
  return Array.isArray(matched) && matched.some((each) => String(each) === id);
}
