// Approvals of merge requests. They have no words and no id, and the API has nothing that asks for changes: that is said in a note.
//
// RVB1  who has approved already, and who may not, is answered as if the token were none (401): which of these it is the list of
//       approvals tells.

import { path } from '../../../rest/path.ts';
import { DeliveryError } from '../../outbound/delivery-error.ts';
import type { OwnAccount } from '../own-account.ts';
import { memberOf, textMember } from '../payload-member.ts';
import type { CommentSearch, RepoPlace, RepoReviews, Verdict } from '../repositories/repo-host.ts';
import type { RepoRest } from '../repositories/repo-rest.ts';

export class RepoHostBReviews implements RepoReviews {
  readonly #rest: RepoRest;
  readonly #own: OwnAccount;

  constructor(rest: RepoRest, own: OwnAccount) {
    this.#rest = rest;
    this.#own = own;
  }

  async post(place: RepoPlace, _: Verdict, _body: string, signal: AbortSignal): Promise<string | undefined> {
    const what = `an approval of ${nameOf(place)}`;
    try {
      const { status } = await this.#rest.write(`${pathOf(place)}/approve`, {}, what, signal);
      // A redirect turns a POST into a GET, which approves nothing.
      if (status === 201) return APPROVED;
      throw new DeliveryError(`${what} was answered ${status} instead of 201`, {
        platformCode: status,
        isFinal: true,
      });
    } catch (error) {
      if ((error as DeliveryError).platformCode !== 401) throw error;
    }
    return this.#approved(place, signal);
  }

  find(place: RepoPlace, _: Verdict, { signal }: Pick<CommentSearch, 'signal'>): Promise<string | undefined> {
    return this.#approved(place, signal);
  }

  async #approved(place: RepoPlace, signal: AbortSignal): Promise<string | undefined> {
    await this.#own.asked();
    const { data } = await this.#rest.read(
      `${pathOf(place)}/approvals`,
      `the approvals of ${nameOf(place)}`,
      signal,
    );
    const all = memberOf(data, 'approved_by');
    if (!Array.isArray(all))
      throw new DeliveryError(`the host answered the approvals of ${nameOf(place)} with no list`);
    return all.some((each) => this.#own.is(textMember(each, 'user.username'))) ? APPROVED : undefined;
  }
}

/** In place of an id: each user has one approval at most. */
const APPROVED = 'approved';

const nameOf = ({ repository, sign, number }: RepoPlace) => `${repository}${sign}${number}`;
const pathOf = ({ repository, number }: RepoPlace) => path`/projects/${repository}/merge_requests/${number}`;
