// For how long a node may work on what it has claimed: while it is a member, under the membership in which it claimed. A gateway
// with a store of its own has no such end.
//
// TEN1  what was claimed under a membership that is over is over with it, whatever the node is a member of by then. Asking costs
//       nothing, and is right at once, also when the process has stood still.

import type { ClusterMembership } from '../../store/membership.ts';

export interface Tenure {
  readonly isOver: boolean;
}

const ENDLESS: Tenure = { isOver: false };

/** That of whatever is claimed from now on. */
export function presentTenure(membership: ClusterMembership | undefined): Tenure {
  if (membership === undefined) return ENDLESS;
  const { epoch } = membership;
  let isOver = !membership.isMember;
  return {
    get isOver() {
      isOver ||= !membership.isMember || membership.epoch !== epoch;
      return isOver;
    },
  };
}
