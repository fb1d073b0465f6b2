// Shows a run of a fleet (several agents that answer one event together): how its members cooperate, the
// votes, and the progress of each member.

import type { MemberRecord } from '../../../http/api/run-shapes.ts';
import type { FleetPlan } from '../../../http/api/target-shapes.ts';
import { fleetText, votesText } from './fleet-text.ts';
import { MemberList } from './member-list.tsx';

interface FleetRunViewProps {
  readonly fleet: FleetPlan;
  /** Members of the run by name; members that have not started are missing. */
  readonly members: ReadonlyMap<string, MemberRecord>;
  readonly isOver: boolean;
}

export function FleetRunView({ fleet, members, isOver }: FleetRunViewProps) {
  // In the order of the fleet's definition.
  const fleetMembers = fleet.members.flatMap(({ name }) => members.get(name) ?? []);
  const votes = votesText(fleet, fleetMembers);
  return (
    <section class="node-pane" aria-label="Fleet">
      <p>{fleetText(fleet)}</p>
      {votes !== undefined && (
        <p role="status">
          <bdi>{votes}</bdi>
        </p>
      )}
      <MemberList members={fleetMembers} isOver={isOver} fleet={fleet} />
    </section>
  );
}
