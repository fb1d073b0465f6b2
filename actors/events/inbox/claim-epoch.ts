// Membership epoch of the node's claims: the time from joining the cluster until the membership is lost.
// Claims from an earlier epoch are void, even if the node has joined the cluster since then. A gateway with a
// private store has a single epoch. `isOver` is correct immediately after a process suspension.

import type { ClusterMembership } from '../../store/membership.ts';

export interface ClaimEpoch {
  readonly isOver: boolean;
}

const SINGLE_EPOCH: ClaimEpoch = { isOver: false };

/** Returns the epoch for claims from now on. */
export function currentClaimEpoch(membership: ClusterMembership | undefined): ClaimEpoch {
  if (membership === undefined) return SINGLE_EPOCH;
  const { epoch } = membership;
  let isOver = !membership.isMember;
  return {
    get isOver() {
      isOver ||= !membership.isMember || membership.epoch !== epoch;
      return isOver;
    },
  };
}
