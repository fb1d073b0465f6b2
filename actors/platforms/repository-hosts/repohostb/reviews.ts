// Approvals of merge requests. They have neither words nor ids: each user has approved or has not. To ask for changes the host has no
// way in this API.

import { DeliveryError } from '../../../events/outbox/delivery-error.ts';
import { memberOf } from '../../payloads/payload-member.ts';
import { type CommentSearch, nameOf, type RepoPlace, type RepoReviews, type Verdict } from '../host.ts';
import type { RepoRest } from '../rest.ts';
import { projectOf } from './place.ts';

/** What an approval is called in records. */
const APPROVED = 'approved';

export class RepoHostBReviews implements RepoReviews {
  readonly #rest: RepoRest;

  constructor(rest: RepoRest) {
    this.#rest = rest;
  }

  async post(place: RepoPlace, _: Verdict, _body: string, signal: AbortSignal): Promise<string | undefined> {
    const what = `an approval of ${nameOf(place)}`;
    try {
      const { status } = await this.#rest.write(`${pathOf(place)}/approve`, {}, what, signal);
      // A redirect turns a POST into a GET, which has approved nothing.
      if (status === 201) return APPROVED;
      throw new DeliveryError(`${what} was answered ${status} instead of 201`, {
        platformCode: status,
        isFinal: true,
      });
    } catch (error) {
      // Said of a token that is none, of what is approved already, and of what its user may not approve.
      if ((error as DeliveryError).platformCode !== 401) throw error;
      const { has, may } = await this.#own(place, signal);
      if (has) return APPROVED;
      if (may) throw error;
      return undefined;
    }
  }

  async find(
    place: RepoPlace,
    _: Verdict,
    { signal }: Pick<CommentSearch, 'signal'>,
  ): Promise<string | undefined> {
    return (await this.#own(place, signal)).has ? APPROVED : undefined;
  }

  /** What the user of the token has approved, and may. */
  async #own(
    place: RepoPlace,
    signal: AbortSignal,
  ): Promise<{ readonly has: boolean; readonly may: boolean }> {
    const what = `the approvals of ${nameOf(place)}`;
    const { data } = await this.#rest.read(`${pathOf(place)}/approvals`, what, signal);
    return {
      has: memberOf(data, 'user_has_approved') === true,
      may: memberOf(data, 'user_can_approve') === true,
    };
  }
}

const pathOf = ({ repository, number }: RepoPlace) => `${projectOf(repository)}/merge_requests/${number}`;
