// Finds the comment that an earlier attempt may have posted, by its property, or by its text if the tracker
// lists no properties.
//
// Reads pages from the newest comment back to the creation time of the row, up to a limit. If the tracker's
// clock is behind that time, the gateway's clock was wrong, and the time is not used.

import { memberOf } from '../payloads/payload-member.ts';
import type { CommentProperty, IssueTrackerApi, ListedComment } from './api.ts';
import { plainText, type TrackerDocument } from './document/nodes.ts';

const MAX_PAGES = 10;
/** Tolerance for a slow tracker clock. */
const CLOCK_SKEW_MS = 600_000;

export interface CommentQuery {
  readonly issue: string;
  readonly body: TrackerDocument;
  readonly property: CommentProperty;
  /** Creation time of the row, epoch ms. */
  readonly madeAt: number;
}

/** Search result; `unknown` if there are too many comments. */
export type CommentSearchResult = { readonly id: string } | 'absent' | 'unknown';

/** Searches for a comment. Rejects with a DeliveryError. */
export async function findComment(
  api: IssueTrackerApi,
  query: CommentQuery,
  signal: AbortSignal,
): Promise<CommentSearchResult> {
  const since = query.madeAt - CLOCK_SKEW_MS;
  let from: number | undefined = 0;
  for (let count = 0; count < MAX_PAGES; count += 1) {
    const { comments, next, time } = await api.newestComments(query.issue, from, signal);
    const id = await matchingId(api, comments, query, signal);
    if (id !== undefined) return { id };
    const isClockRight = time === undefined || time >= since;
    const isOlder =
      isClockRight && comments.some(({ createdAt }) => createdAt !== undefined && createdAt < since);
    if (next === undefined || isOlder) return 'absent';
    from = next;
  }
  return 'unknown';
}

/** Returns the id of the matching comment on a page. */
async function matchingId(
  api: IssueTrackerApi,
  comments: readonly ListedComment[],
  { body, property }: CommentQuery,
  signal: AbortSignal,
): Promise<string | undefined> {
  const match = comments.find((each) => hasProperty(each, property));
  if (match !== undefined) return match.id;
  const incomplete = comments.filter(({ properties }) => properties === undefined);
  if (incomplete.length === 0) return undefined;
  const ids = incomplete.map(({ id }) => id).filter((id) => /^\d{1,15}$/.test(id));
  const complete = ids.length === 0 ? [] : await api.commentsWithProperties(ids, signal);
  const laterMatch = complete.find((each) => hasProperty(each, property));
  if (laterMatch !== undefined) return laterMatch.id;
  const checkedIds = new Set(
    complete.filter(({ properties }) => properties !== undefined).map(({ id }) => id),
  );
  const text = plainText(body).trim();
  return incomplete.find((each) => !checkedIds.has(each.id) && textOf(each) === text)?.id;
}

function hasProperty({ properties = [] }: ListedComment, { key, value }: CommentProperty): boolean {
  return properties.some(
    (each) =>
      memberOf(each, 'key') === key && JSON.stringify(memberOf(each, 'value')) === JSON.stringify(value),
  );
}

const textOf = ({ body }: ListedComment) =>
  (typeof body === 'string' ? body : plainText((body ?? {}) as TrackerDocument)).trim();
