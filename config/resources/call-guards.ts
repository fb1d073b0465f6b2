// Detects rules that restrict tool calls of agents, commands or flows: approvals and denials ("guards"). If a
// gateway has such a rule, anonymous clients may not call tools, because direct calls would bypass the rule.

import type { Agent } from './agents/agent.ts';
import type { Fleet } from './fleets/fleet.ts';
import type { Flow, FlowBody, FlowNode } from './flows/flow.ts';
import type { Target } from './triggers/target.ts';
import type { Trigger } from './triggers/trigger.ts';

/** Validated resource: one of the members is set, or none if the file has errors. */
export interface GuardingResource {
  readonly trigger?: Trigger | undefined;
  readonly agent?: Agent | undefined;
  readonly fleet?: Fleet | undefined;
  readonly flow?: Flow | undefined;
}

interface GuardingResources {
  readonly triggers: readonly Trigger[];
  readonly agents: readonly Agent[];
  readonly fleets: readonly Fleet[];
  readonly flows: readonly Flow[];
}

/** A rule, with the resource that contains it. */
export interface CallGuard {
  readonly kind: 'trigger' | Target['kind'];
  readonly name: string;
  /** Rule as written in the file, such as `policy.ask`. */
  readonly rule: string;
  /** Path of the rule in the file, or of its parent field. */
  readonly path: string;
}

/** Returns the first guard in the loaded resources, if any. */
export function findCallGuard({ triggers, agents, fleets, flows }: GuardingResources): CallGuard | undefined {
  return (
    firstOf(agents, (agent) => guardOf({ agent })) ??
    firstOf(triggers, (trigger) => guardOf({ trigger })) ??
    firstOf(fleets, (fleet) => guardOf({ fleet })) ??
    firstOf(flows, (flow) => guardOf({ flow }))
  );
}

/** Returns the first guard in a resource or in the agents defined within it (inline agents), if any. */
export function guardOf({ trigger, agent, fleet, flow }: GuardingResource): CallGuard | undefined {
  if (trigger?.commands.some(({ approval }) => approval !== undefined))
    return { kind: 'trigger', name: trigger.name, rule: 'requires_approval', path: 'spec.commands' };
  const found =
    (agent && { kind: 'agent', name: agent.name, rule: ruleOfAgent(agent), path: 'spec.policy' }) ??
    (fleet && { kind: 'fleet', name: fleet.name, rule: ruleOfFleet(fleet), path: 'spec' }) ??
    (flow && { kind: 'flow', name: flow.name, rule: ruleOfBody(flow), path: 'spec.nodes' });
  return found?.rule === undefined ? undefined : (found as CallGuard);
}

function ruleOfAgent({ runtime }: Agent): string | undefined {
  if (runtime.kind !== 'model') return undefined;
  if (runtime.policy.ask.length > 0) return 'policy.ask';
  if (runtime.policy.deny.length > 0) return 'policy.deny';
  return runtime.interrupted_calls === 'ask' ? 'interrupted_calls: ask' : undefined;
}

/** Returns the rule of an inline agent. An agent named by a text is checked as a separate resource. */
const ruleOfInline = (agent: string | Agent) => (typeof agent === 'string' ? undefined : ruleOfAgent(agent));

const ruleOfFleet = ({ members }: Fleet) => firstOf(members, ({ agent }) => ruleOfInline(agent));

const ruleOfBody = ({ nodes }: FlowBody): string | undefined => firstOf(nodes, ruleOfNode);

function ruleOfNode({ work }: FlowNode): string | undefined {
  switch (work.type) {
    case 'Approval':
      return 'type: Approval';
    case 'Loop':
      return ruleOfBody(work.body);
    case 'Agent':
      return ruleOfInline(work.agent);
    case 'Fleet':
      return typeof work.fleet === 'string' ? undefined : ruleOfFleet(work.fleet);
    default:
      return undefined;
  }
}

function firstOf<T, Found>(list: readonly T[], find: (each: T) => Found | undefined): Found | undefined {
  for (const each of list) {
    const found = find(each);
    if (found !== undefined) return found;
  }
  return undefined;
}
