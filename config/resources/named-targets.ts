// Collects targets: the agents, fleets and flows that a trigger, fleet or flow refers to by name. Agents and
// fleets that are defined within another file are not targets, but the names in them are included.

import type { Fleet } from './fleets/fleet.ts';
import type { Flow, FlowBody } from './flows/flow.ts';
import { agentTarget, type Target } from './triggers/target.ts';
import type { Trigger } from './triggers/trigger.ts';

export function targetsOfTrigger({ default_target, commands, rules = [] }: Trigger): readonly Target[] {
  const targets = [...commands, ...rules].map(({ target }) => target);
  return default_target === undefined ? targets : [default_target, ...targets];
}

export function targetsOfFleet({ members }: Fleet): readonly Target[] {
  return members.flatMap(({ agent }) => (typeof agent === 'string' ? [agentTarget(agent)] : []));
}

export const targetsOfFlow = (flow: Flow): readonly Target[] => targetsIn(flow);

function targetsIn({ nodes }: FlowBody): readonly Target[] {
  return nodes.flatMap(({ work }): readonly Target[] => {
    if (work.type === 'Loop') return targetsIn(work.body);
    if (work.type === 'Agent' && typeof work.agent === 'string') return [agentTarget(work.agent)];
    if (work.type !== 'Fleet') return [];
    return typeof work.fleet === 'string'
      ? [{ kind: 'fleet', name: work.fleet }]
      : targetsOfFleet(work.fleet);
  });
}
