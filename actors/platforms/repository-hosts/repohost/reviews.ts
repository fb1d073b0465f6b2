// Reviews of pull requests that say whether something may be merged.

import { DeliveryError } from '../../../events/outbox/delivery-error.ts';
import type { OwnAccount } from '../../accounts/own-account.ts';
import { memberOf, textMember } from '../../payloads/payload-member.ts';
import { type CommentSearch, nameOf, type RepoPlace, type RepoReviews, type Verdict } from '../host.ts';
import { nextPage } from '../next-page.ts';
import type { RepoRest } from '../rest.ts';

/** They come in the order in which they were made: more than these of one request, and the last ones are not looked at. */
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
    place: RepoPlace,
    verdict: Verdict,
    body: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const what = `a review of ${nameOf(place)}`;
    try {
      const review = { event: EVENTS[verdict], body };
      const { status, data } = await this.#rest.write(reviewsOf(place), review, what, signal);
      const id = idOf(data);
      // A redirect turns a POST into a GET, which is answered with the list and has posted nothing.
      if (id === undefined)
        throw new DeliveryError(`${what} was answered ${status} without the id of a review`, {
          platformCode: status,
          isFinal: true,
        });
      this.#own.note(textMember(data, 'user.login'));
      return id;
    } catch (error) {
      // Nobody may judge what they have asked for themselves.
      if ((error as DeliveryError).platformCode === 422) return undefined;
      throw error;
    }
  }

  async find(
    place: RepoPlace,
    _: Verdict,
    { mark, signal }: Pick<CommentSearch, 'mark' | 'signal'>,
  ): Promise<string | undefined> {
    const path = reviewsOf(place);
    let page: string | undefined = `${path}?per_page=100`;
    for (let count = 0; page !== undefined && count < MAX_PAGES; count += 1) {
      const { data, link } = await this.#rest.read(page, `the reviews of ${nameOf(place)}`, signal);
      if (!Array.isArray(data))
        throw new DeliveryError(`the host answered the reviews of ${nameOf(place)} with no list`);
      const posted: unknown = data.find((each) => String(memberOf(each, 'body')).includes(mark));
      if (posted !== undefined) return idOf(posted);
      page = nextPage(path, link);
    }
    return undefined;
  }
}

const reviewsOf = ({ repository, number }: RepoPlace) => `/repos/${repository}/pulls/${number}/reviews`;

function idOf(review: unknown): string | undefined {
  const id = memberOf(review, 'id');
  return typeof id === 'number' || typeof id === 'string' ? String(id) : undefined;
}
