// Collects inline agents: agents that are defined within a fleet or flow file, instead of a separate file.

import type { Agent } from './agents/agent.ts';
import type { Fleet } from './fleets/fleet.ts';
import type { Flow, FlowBody } from './flows/flow.ts';

export function inlineAgents({
  fleets,
  flows,
}: {
  readonly fleets: readonly Fleet[];
  readonly flows: readonly Flow[];
}): readonly Agent[] {
  return [...fleets.flatMap(agentsOfFleet), ...flows.flatMap(agentsIn)];
}

const agentsOfFleet = ({ members }: Fleet): readonly Agent[] =>
  members.flatMap(({ agent }) => (typeof agent === 'string' ? [] : [agent]));

function agentsIn({ nodes }: FlowBody): readonly Agent[] {
  return nodes.flatMap(({ work }): readonly Agent[] => {
    if (work.type === 'Loop') return agentsIn(work.body);
    if (work.type === 'Agent' && typeof work.agent !== 'string') return [work.agent];
    return work.type === 'Fleet' && typeof work.fleet !== 'string' ? agentsOfFleet(work.fleet) : [];
  });
}
