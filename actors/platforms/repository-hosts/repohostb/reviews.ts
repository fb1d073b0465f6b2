// Approvals of merge requests. An approval contains neither text nor id: a user has approved or not. This API
// cannot request changes.

import { DeliveryError } from '../../../events/outbox/delivery-error.ts';
import { memberOf } from '../../payloads/payload-member.ts';
import {
  type CommentSearch,
  nameOf,
  type RepoItemRef,
  type RepoReviews,
  type ReviewVerdict,
} from '../host.ts';
import type { RepoRest } from '../rest.ts';
import { projectOf } from './project-path.ts';

/** Id of an approval in records. */
const APPROVED = 'approved';

export class RepoHostBReviews implements RepoReviews {
  readonly #rest: RepoRest;

  constructor(rest: RepoRest) {
    this.#rest = rest;
  }

  async post(
    place: RepoItemRef,
    _: ReviewVerdict,
    _body: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const what = `an approval of ${nameOf(place)}`;
    try {
      const { status } = await this.#rest.write(`${pathOf(place)}/approve`, {}, what, signal);
      // A redirect turns the POST into a GET, which approves nothing.
      if (status === 201) return APPROVED;
      throw new DeliveryError(`${what}: response ${status} instead of 201`, {
        platformCode: status,
        isFinal: true,
      });
    } catch (error) {
      // 401 is the response to an invalid token, to a repeated approval, and to a user who may not approve.
      if ((error as DeliveryError).platformCode !== 401) throw error;
      const { hasApproved, mayApprove } = await this.#approvalState(place, signal);
      if (hasApproved) return APPROVED;
      if (mayApprove) throw error;
      return undefined;
    }
  }

  async find(
    place: RepoItemRef,
    _: ReviewVerdict,
    { signal }: Pick<CommentSearch, 'signal'>,
  ): Promise<string | undefined> {
    return (await this.#approvalState(place, signal)).hasApproved ? APPROVED : undefined;
  }

  /** Returns the state of the token's user: has approved, may approve. */
  async #approvalState(
    place: RepoItemRef,
    signal: AbortSignal,
  ): Promise<{ readonly hasApproved: boolean; readonly mayApprove: boolean }> {
    const what = `the approvals of ${nameOf(place)}`;
    const { data } = await this.#rest.read(`${pathOf(place)}/approvals`, what, signal);
    return {
      hasApproved: memberOf(data, 'user_has_approved') === true,
      mayApprove: memberOf(data, 'user_can_approve') === true,
    };
  }
}

const pathOf = ({ repository, number }: RepoItemRef) => `${projectOf(repository)}/merge_requests/${number}`;
