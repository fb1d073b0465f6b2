// A fleet: how it comes to one answer, its members, and in a run how far each has come and how the vote stands.

import type { DrawnFleet, MemberRow } from '../../wire/run-wire.ts';
import { fleetWords, votesText } from './fleet-words.ts';
import { MemberList } from './member-list.tsx';

interface FleetRunViewProps {
  readonly fleet: DrawnFleet;
  readonly members: ReadonlyMap<string, MemberRow>;
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
