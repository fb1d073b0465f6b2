// Sends an agent's verdict as a review: the actions `approve` and `request_changes` of its answer, if the
// trigger's file allows reviews. On hosts with reviews that contain no text, the text is a separate comment
// before the review.
//
// Before a second attempt the review is searched for, like a comment (outbound.ts). If the host refuses the
// review, because authors may not approve their own pull requests, the text is posted as a comment; its first
// line and the record contain the reason.

import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { OutboundMessage } from '../../events/outbox/message.ts';
import type { SendContext, SendReceipt } from '../../events/outbox/outbound.ts';
import type { RepoApi, RepoHost, RepoItemRef, RepoTrigger, ReviewVerdict } from './host.ts';

/** Value of `target.thread` for answers that may be reviews. */
export const REVIEWS = 'reviews';

const MAX_REFUSED = 1_000;

/** Returns the verdict of the answer; undefined if the answer contains no supported verdict, or both. */
export function verdictOf(
  { target, action, card }: OutboundMessage,
  reviews: RepoHost<RepoTrigger, RepoApi>['reviews'],
): ReviewVerdict | undefined {
  if (target.thread !== REVIEWS || action.do !== 'post') return undefined;
  const actions = (card?.actions ?? []).filter(({ url }) => url === undefined).map(({ id }) => id);
  const [verdict, ...others] = (['approve', 'request_changes'] as const).filter((each) =>
    actions.includes(each),
  );
  if (verdict === undefined || others.length > 0) return undefined;
  return reviews?.verdicts.includes(verdict) === true ? verdict : undefined;
}

/** Rows with a refused review. Their comments may still be waiting for the rate limit. */
export class RefusedReviews {
  readonly #rows = new Set<string>();

  has(rowId: string): boolean {
    return this.#rows.has(rowId);
  }

  /** Adds a row. Bounded: the review of a forgotten row is retried. */
  add(rowId: string): void {
    this.#rows.add(rowId);
    deleteOldest(this.#rows, MAX_REFUSED);
  }
}

export interface ReviewRow {
  readonly api: RepoApi;
  readonly place: RepoItemRef;
  readonly verdict: ReviewVerdict;
  /** '' on hosts with reviews that contain no text. */
  readonly body: string;
  readonly mark: string;
  readonly refused: RefusedReviews;
}

/** Posts a review. If it is refused, `postComment` posts the text as a comment with a prefix. */
export async function sendReview(
  { api, place, verdict, body, mark, refused }: ReviewRow,
  { rowId, createdAt, wasTried, signal }: SendContext,
  postComment: (prefix: string) => Promise<SendReceipt>,
): Promise<SendReceipt> {
  const { reviews } = api;
  if (reviews === undefined) throw new DeliveryError('the host does not support reviews', { isFinal: true });
  if (!refused.has(rowId)) {
    const existing = wasTried
      ? await reviews.find(place, verdict, { mark, madeAt: createdAt, signal })
      : undefined;
    const id = existing ?? (await reviews.post(place, verdict, body, signal));
    if (id !== undefined) return { id };
    refused.add(rowId);
  }
  const { repository, sign, number } = place;
  const note = `the host refuses a review (${verdict}) of ${repository}${sign}${number} by the token's user`;
  if (body === '') throw new DeliveryError(note, { isFinal: true });
  return { ...(await postComment(noReviewPrefix(verdict))), note: `${note}; posted as a comment` };
}

const noReviewPrefix = (verdict: ReviewVerdict) =>
  `*(${verdict}: no review, since the host refuses one by this account)*\n\n`;

/** Maximum length of the prefix. */
export const NO_REVIEW_PREFIX_LENGTH: number = noReviewPrefix('request_changes').length;
