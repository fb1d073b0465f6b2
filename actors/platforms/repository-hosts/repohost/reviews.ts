// Reviews of pull requests at this host: approve, or request changes.

import { DeliveryError } from '../../../events/outbox/delivery-error.ts';
import type { OwnAccount } from '../../accounts/own-account.ts';
import { memberOf, textMember } from '../../payloads/payload-member.ts';
import {
  type CommentSearch,
  nameOf,
  type RepoItemRef,
  type RepoReviews,
  type ReviewVerdict,
} from '../host.ts';
import { nextPage } from '../next-page.ts';
import type { RepoRest } from '../rest.ts';

/** Maximum number of pages. They are in chronological order; later reviews are not searched. */
const MAX_PAGES = 30;

const EVENTS = { approve: 'APPROVE', request_changes: 'REQUEST_CHANGES' } as const;

export class RepoHostReviews implements RepoReviews {
  readonly #rest: RepoRest;
  readonly #own: OwnAccount;

  constructor(rest: RepoRest, own: OwnAccount) {
    this.#rest = rest;
    this.#own = own;
  }

  async post(
    place: RepoItemRef,
    verdict: ReviewVerdict,
    body: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const what = `a review of ${nameOf(place)}`;
    try {
      const review = { event: EVENTS[verdict], body };
      const { status, data } = await this.#rest.write(reviewsOf(place), review, what, signal);
      const id = idOf(data);
      // A redirect turns the POST into a GET, which returns a list.
      if (id === undefined)
        throw new DeliveryError(`${what}: response ${status} contains no review id`, {
          platformCode: status,
          isFinal: true,
        });
      this.#own.note(textMember(data, 'user.login'));
      return id;
    } catch (error) {
      // Authors may not review their own pull request.
      if ((error as DeliveryError).platformCode === 422) return undefined;
      throw error;
    }
  }

  async find(
    place: RepoItemRef,
    _: ReviewVerdict,
    { mark, signal }: Pick<CommentSearch, 'mark' | 'signal'>,
  ): Promise<string | undefined> {
    const path = reviewsOf(place);
    let page: string | undefined = `${path}?per_page=100`;
    for (let count = 0; page !== undefined && count < MAX_PAGES; count += 1) {
      const { data, link } = await this.#rest.read(page, `the reviews of ${nameOf(place)}`, signal);
      if (!Array.isArray(data))
        throw new DeliveryError(`the host returned no list for the reviews of ${nameOf(place)}`);
      const posted: unknown = data.find((each) => String(memberOf(each, 'body')).includes(mark));
      if (posted !== undefined) return idOf(posted);
      page = nextPage(path, link);
    }
    return undefined;
  }
}

const reviewsOf = ({ repository, number }: RepoItemRef) => `/repos/${repository}/pulls/${number}/reviews`;

function idOf(review: unknown): string | undefined {
  const id = memberOf(review, 'id');
  return typeof id === 'number' || typeof id === 'string' ? String(id) : undefined;
}
