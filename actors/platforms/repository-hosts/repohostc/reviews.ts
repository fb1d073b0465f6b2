// Reviews of pull requests at this host: approved, or changes requested. A review contains neither text nor
// id: an account is in one of these states, or has not reviewed.

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
import type { RepoRest } from '../rest.ts';
import { accountOf } from './account.ts';

const requests = {
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
    place: RepoItemRef,
    verdict: ReviewVerdict,
    _body: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { verb, state } = requests[verdict];
    const what = `a review of ${nameOf(place)}`;
    try {
      const { status, data } = await this.#rest.write(`${pathOf(place)}/${verb}`, {}, what, signal);
      // A redirect turns the POST into a GET, which changes nothing.
      const account = accountOf(memberOf(data, 'user'));
      if (account === undefined)
        throw new DeliveryError(`${what}: response ${status} contains no account`, {
          platformCode: status,
          isFinal: true,
        });
      this.#own.note(account);
      return idOf(account, state);
    } catch (error) {
      // The account already has this state.
      if ((error as DeliveryError).platformCode === 409) return idOf('', state);
      throw error;
    }
  }

  async find(
    place: RepoItemRef,
    verdict: ReviewVerdict,
    { signal }: Pick<CommentSearch, 'signal'>,
  ): Promise<string | undefined> {
    const { state } = requests[verdict];
    const { data } = await this.#rest.read(pathOf(place), `the reviews of ${nameOf(place)}`, signal);
    const participants = memberOf(data, 'participants');
    if (!Array.isArray(participants))
      throw new DeliveryError(`the host returned no list for the reviews of ${nameOf(place)}`);
    const reviewer = participants
      .filter((each) => textMember(each, 'state') === state)
      .map((each) => accountOf(memberOf(each, 'user')))
      .find((account) => this.#own.isName(account));
    return reviewer === undefined ? undefined : idOf(reviewer, state);
  }
}

const pathOf = ({ repository, number }: RepoItemRef) => `/repositories/${repository}/pullrequests/${number}`;
const idOf = (account: string, state: string) => (account === '' ? state : `${state} by ${account}`);
