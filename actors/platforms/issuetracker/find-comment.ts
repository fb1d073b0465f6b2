// Whether a comment was written by an attempt that did not live to say so. It is known by its property; where the tracker does not tell
// of properties, by what it says.
//
// ITL1  comments are looked through from the newest to those older than the row, in pages, and only so many.
// ITL2  a row that was made later than it is at the tracker was made by a clock that was wrong: then age ends nothing.

import { memberOf } from '../payloads/payload-member.ts';
import type { CommentProperty, IssueTrackerApi, ListedComment } from './api.ts';
import { plainText, type TrackerDocument } from './document/nodes.ts';

const MAX_PAGES = 10;
/** The tracker's clock may be behind ours. */
const CLOCK_SKEW_MS = 600_000;

export interface SoughtComment {
  readonly issue: string;
  readonly body: TrackerDocument;
  readonly property: CommentProperty;
  /** When its row was made, epoch ms. */
  readonly madeAt: number;
}

/** Its id, or that it is not there; `unknown` where there are more comments than are looked through. */
export type Found = { readonly id: string } | 'absent' | 'unknown';

/** Rejects with a DeliveryError. */
export async function findComment(
  api: IssueTrackerApi,
  sought: SoughtComment,
  signal: AbortSignal,
): Promise<Found> {
  const since = sought.madeAt - CLOCK_SKEW_MS;
  let from: number | undefined = 0;
  for (let count = 0; count < MAX_PAGES; count += 1) {
    const { comments, next, time } = await api.newestComments(sought.issue, from, signal);
    const found = await foundIn(api, comments, sought, signal);
    if (found !== undefined) return { id: found };
    const isClockRight = time === undefined || time >= since;
    const isOlder =
      isClockRight && comments.some(({ createdAt }) => createdAt !== undefined && createdAt < since);
    if (next === undefined || isOlder) return 'absent';
    from = next;
  }
  return 'unknown';
}

/** The id of the one that it is. */
async function foundIn(
  api: IssueTrackerApi,
  comments: readonly ListedComment[],
  { body, property }: SoughtComment,
  signal: AbortSignal,
): Promise<string | undefined> {
  const marked = comments.find((each) => hasProperty(each, property));
  if (marked !== undefined) return marked.id;
  const untold = comments.filter(({ properties }) => properties === undefined);
  if (untold.length === 0) return undefined;
  const ids = untold.map(({ id }) => id).filter((id) => /^\d{1,15}$/.test(id));
  const told = ids.length === 0 ? [] : await api.commentsWithProperties(ids, signal);
  const markedThere = told.find((each) => hasProperty(each, property));
  if (markedThere !== undefined) return markedThere.id;
  const isTold = new Set(told.filter(({ properties }) => properties !== undefined).map(({ id }) => id));
  const words = plainText(body).trim();
  return untold.find((each) => !isTold.has(each.id) && wordsOf(each) === words)?.id;
}

function hasProperty({ properties = [] }: ListedComment, { key, value }: CommentProperty): boolean {
  return properties.some(
    (each) =>
      memberOf(each, 'key') === key && JSON.stringify(memberOf(each, 'value')) === JSON.stringify(value),
  );
}

const wordsOf = ({ body }: ListedComment) =>
  (typeof body === 'string' ? body : plainText((body ?? {}) as TrackerDocument)).trim();
