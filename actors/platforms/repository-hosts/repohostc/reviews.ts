// What one says of a pull request: that it may be merged, or that it must be changed. Neither has words or an id of its own: each
// account says one of the two, or nothing.

import { DeliveryError } from '../../../events/outbox/delivery-error.ts';
import type { OwnAccount } from '../../accounts/own-account.ts';
import { memberOf, textMember } from '../../payloads/payload-member.ts';
import { type CommentSearch, nameOf, type RepoPlace, type RepoReviews, type Verdict } from '../host.ts';
import type { RepoRest } from '../rest.ts';
import { accountOf } from './account.ts';

const ways = {
  approve: { verb: 'approve', state: 'approved' },
  request_changes: { verb: 'request-changes', state: 'changes_requested' },
} as const;

export class RepoHostCReviews implements RepoReviews {
  readonly #rest: RepoRest;
  readonly #own: OwnAccount;

  constructor(rest: RepoRest, own: OwnAccount) {
    this.#rest = rest;
    this.#own = own;
  }

  async post(
    place: RepoPlace,
    verdict: Verdict,
    _body: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { verb, state } = ways[verdict];
    const what = `a review of ${nameOf(place)}`;
    try {
      const { status, data } = await this.#rest.write(`${pathOf(place)}/${verb}`, {}, what, signal);
      // A redirect turns a POST into a GET, which has said nothing.
      const who = accountOf(memberOf(data, 'user'));
      if (who === undefined)
        throw new DeliveryError(`${what} was answered ${status} without the account that it is of`, {
          platformCode: status,
          isFinal: true,
        });
      this.#own.note(who);
      return idOf(who, state);
    } catch (error) {
      // It stands there.
      if ((error as DeliveryError).platformCode === 409) return idOf('', state);
      throw error;
    }
  }

  async find(
    place: RepoPlace,
    verdict: Verdict,
    { signal }: Pick<CommentSearch, 'signal'>,
  ): Promise<string | undefined> {
    const { state } = ways[verdict];
    const { data } = await this.#rest.read(pathOf(place), `the reviews of ${nameOf(place)}`, signal);
    const participants = memberOf(data, 'participants');
    if (!Array.isArray(participants))
      throw new DeliveryError(`the host answered the reviews of ${nameOf(place)} with no list`);
    const said = participants
      .filter((each) => textMember(each, 'state') === state)
      .map((each) => accountOf(memberOf(each, 'user')))
      .find((who) => this.#own.is(who));
    return said === undefined ? undefined : idOf(said, state);
  }
}

const pathOf = ({ repository, number }: RepoPlace) => `/repositories/${repository}/pullrequests/${number}`;
const idOf = (who: string, state: string) => (who === '' ? state : `${state} by ${who}`);
