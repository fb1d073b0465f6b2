// What an agent's answer judges: an action `approve` or `request_changes` makes a review of it, where the file lets it. Of a host
// whose verdicts have no words the words are a comment that goes before, in a row of its own.
//
// A review is looked for before a second attempt, as a comment is (COM1).
// What is said is not lost with its verdict: where the host takes no review (nobody may approve what is their own) it is a
// comment, whose first line and whose record say so.

import { forgetOldest } from '../../base/bounds/forget-oldest.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { Receipt, SendContext } from '../../events/outbox/outbound.ts';
import type { OutboundMessage } from '../../events/outbox/outbound-message.ts';
import type { RepoApi, RepoHost, RepoPlace, RepoTrigger, Verdict } from './host.ts';

/** Where answers to a request may judge it: in the target beside the place of its comments. */
export const REVIEWS = 'reviews';

const MAX_REFUSED = 1_000;

/** Undefined where the answer says nothing of it, or both, or more than the host has a form for. */
export function verdictOf(
  { target, action, card }: OutboundMessage,
  reviews: RepoHost<RepoTrigger, RepoApi>['reviews'],
): Verdict | undefined {
  if (target.thread !== REVIEWS || action.do !== 'post') return undefined;
  const said = (card?.actions ?? []).filter(({ url }) => url === undefined).map(({ id }) => id);
  const [verdict, ...others] = (['approve', 'request_changes'] as const).filter((each) =>
    said.includes(each),
  );
  if (verdict === undefined || others.length > 0) return undefined;
  return reviews?.verdicts.includes(verdict) === true ? verdict : undefined;
}

/** Rows whose review the host has refused: the comment that is to be in its place may have to wait for its turn. */
export class RefusedReviews {
  readonly #rows = new Set<string>();

  has(rowId: string): boolean {
    return this.#rows.has(rowId);
  }

  /** Of one that is forgotten the host is asked once more. */
  add(rowId: string): void {
    this.#rows.add(rowId);
    forgetOldest(this.#rows, MAX_REFUSED);
  }
}

export interface ReviewRow {
  readonly api: RepoApi;
  readonly place: RepoPlace;
  readonly verdict: Verdict;
  /** '' where verdicts have no words. */
  readonly body: string;
  readonly mark: string;
  readonly refused: RefusedReviews;
}

/** `instead` writes a comment that begins with what it is given. */
export async function sendReview(
  { api, place, verdict, body, mark, refused }: ReviewRow,
  { rowId, madeAt, wasTried, signal }: SendContext,
  instead: (beginning: string) => Promise<Receipt>,
): Promise<Receipt> {
  const { reviews } = api;
  if (reviews === undefined) throw new DeliveryError('the host has no reviews', { isFinal: true });
  if (!refused.has(rowId)) {
    const before = wasTried ? await reviews.find(place, verdict, { mark, madeAt, signal }) : undefined;
    const id = before ?? (await reviews.post(place, verdict, body, signal));
    if (id !== undefined) return { id };
    refused.add(rowId);
  }
  const { repository, sign, number } = place;
  const note = `the host takes no review (${verdict}) of ${repository}${sign}${number} from whose token it is`;
  if (body === '') throw new DeliveryError(note, { isFinal: true });
  return { ...(await instead(unjudged(verdict))), note: `${note}, so it is a comment` };
}

const unjudged = (verdict: Verdict) => `*(${verdict}: no review, since the host takes none from here)*\n\n`;

/** For what stands before words whose review is not taken. */
export const UNJUDGED_ROOM: number = unjudged('request_changes').length;
