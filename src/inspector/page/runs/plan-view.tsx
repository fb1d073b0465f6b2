// Shows the definition that a run follows: the flow graph or the fleet members, and the request.

import { FleetRunView } from '../flow/fleet-view.tsx';
import { FlowView } from '../flow/view.tsx';
import type { WatchedRunState } from './state.ts';

interface PlanPartProps {
  readonly name: string;
  readonly runState: WatchedRunState;
  readonly isOver: boolean;
  readonly now: number;
}

export function PlanPart({ name, runState, isOver, now }: PlanPartProps) {
  const { plan, nodes, members, steps } = runState;
  if (plan === undefined) return null;
  const { flow, fleet, input, parameters } = plan;
  return (
    <>
      {flow !== null && <FlowView name={name} graph={flow} run={{ nodes, members, steps, isOver, now }} />}
      {fleet !== null && <FleetRunView fleet={fleet} members={members} isOver={isOver} />}
      {flow === null && fleet === null && (
        <p class="empty">The definition is not readable, so there is no graph. See the steps below.</p>
      )}
      {(input !== '' || parameters.length > 0) && (
        <details class="request">
          <summary>Request</summary>
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
