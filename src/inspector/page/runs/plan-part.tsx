// The part of a run that only flows and fleets have: what it goes on by, and how far that has come.

import { FleetRunView } from '../flow/fleet-view.tsx';
import { FlowView } from '../flow/flow-view.tsx';
import type { ShownRunState } from './run-state.ts';

interface PlanPartProps {
  readonly name: string;
  readonly shown: ShownRunState;
  readonly isOver: boolean;
  readonly now: number;
}

export function PlanPart({ name, shown, isOver, now }: PlanPartProps) {
  const { plan, nodes, members, steps } = shown;
  if (plan === undefined) return null;
  const { flow, fleet, input, parameters } = plan;
  return (
    <>
      {flow !== null && <FlowView name={name} graph={flow} run={{ nodes, members, steps, isOver, now }} />}
      {fleet !== null && <FleetRunView fleet={fleet} members={members} isOver={isOver} />}
      {flow === null && fleet === null && (
        <p class="empty">What it goes on by cannot be read, so it is not drawn. Its steps stand below.</p>
      )}
      {(input !== '' || parameters.length > 0) && (
        <details class="asked">
          <summary>What it was asked</summary>
          {parameters.map(([parameter, value]) => (
            <div key={parameter}>
              <span class="aside">{parameter}</span> <bdi>{value}</bdi>
            </div>
          ))}
          {input !== '' && <pre>{input}</pre>}
        </details>
      )}
    </>
  );
}
