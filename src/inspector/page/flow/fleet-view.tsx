// A fleet: how it comes to one answer, its members, and in a run how far each has come and how the vote stands.

import type { MemberRecord } from '../../../http/api/run-shapes.ts';
import type { FleetPlan } from '../../../http/api/target-shapes.ts';
import { fleetWords, votesText } from './fleet-words.ts';
import { MemberList } from './member-list.tsx';

interface FleetRunViewProps {
  readonly fleet: FleetPlan;
  readonly members: ReadonlyMap<string, MemberRecord>;
  readonly isOver: boolean;
}

export function FleetRunView({ fleet, members, isOver }: FleetRunViewProps) {
  const own = fleet.members.flatMap(({ name }) => members.get(name) ?? []);
  const votes = votesText(fleet, own);
  return (
    <section class="node-pane" aria-label="The fleet">
      <p>{fleetWords(fleet)}</p>
      {votes !== undefined && (
        <p role="status">
          <bdi>{votes}</bdi>
        </p>
      )}
      <MemberList members={own} isOver={isOver} fleet={fleet} />
    </section>
  );
}
