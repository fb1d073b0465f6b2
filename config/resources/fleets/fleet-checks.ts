// Checks the agents of a fleet (several agents that work on one event), once all files are loaded. The agents
// must exist, a manager must be able to lead, and the answers of voting members must have the voted field.

import { joinPath } from '../../reader/field-path.ts';
import type { Problem } from '../../reader/problem.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { suggest } from '../../reader/suggest.ts';
import type { Agent } from '../agents/agent.ts';
import type { Consensus, Fleet, FleetMember } from './fleet.ts';

/**
 * `agents` contains all agents by name; undefined for an agent with errors. `severity` applies to unknown
 * names, which may be in files that were not loaded. `within` is the path of a fleet that is defined within a
 * flow.
 */
export function checkFleet(
  reader: SchemaReader,
  fleet: Fleet,
  agents: ReadonlyMap<string, Agent | undefined>,
  severity: Problem['severity'] = 'error',
  within = '',
): void {
  const list = within === '' ? 'spec.agents' : `${within}.spec.agents`;
  for (const [index, member] of fleet.members.entries()) {
    const path = joinPath(list, index);
    const agent = typeof member.agent === 'string' ? agents.get(member.agent) : member.agent;
    if (typeof member.agent === 'string' && !agents.has(member.agent)) {
      const fieldPath = joinPath(path, reader.has(joinPath(path, 'agent')) ? 'agent' : 'name');
      const near = suggest(String(member.agent), [...agents.keys()]);
      const advice = near === undefined ? '' : `; did you mean ${near}?`;
      reader.report(fieldPath, `there is no agent ${member.agent}${advice}`, severity);
      continue;
    }
    // An agent with errors was reported.
    if (agent === undefined) continue;
    checkVoter(reader, path, fleet, member, agent);
    checkManager(reader, path, fleet, member, agent);
  }
}

/** Reports a manager without a model: in mode hierarchical, its model calls the members as tools. */
function checkManager(
  reader: SchemaReader,
  path: string,
  { coordination }: Fleet,
  { name, isManager }: FleetMember,
  { runtime }: Agent,
): void {
  if (coordination.mode === 'hierarchical' && isManager && runtime.kind !== 'model')
    reader.report(
      joinPath(path, 'name'),
      `mode hierarchical needs a manager with a model, which calls the members as tools; ${name} has no model`,
    );
}

/**
 * Reports a voting member whose `output_schema` lacks the voted field. Programs and scripts have no schema,
 * so their answers are unknown in advance.
 */
function checkVoter(
  reader: SchemaReader,
  path: string,
  fleet: Fleet,
  member: FleetMember,
  agent: Agent,
): void {
  const { coordination } = fleet;
  const vote = 'by' in coordination ? coordination.by : undefined;
  if (typeof vote !== 'object' || agent.runtime.kind !== 'model' || !doesVote(fleet, vote, member)) return;
  const fault = fieldFault(agent.runtime.output_schema, vote.field);
  if (fault !== undefined) reader.report(joinPath(path, 'name'), `${member.name} cannot vote: ${fault}`);
}

/**
 * Returns true if the member votes. The members of the last tier vote, except the member that decides if the
 * vote has no result.
 */
function doesVote({ members }: Fleet, { on_none }: Consensus, { name, tier }: FleetMember): boolean {
  const decider = on_none === 'fail' ? undefined : on_none.agent;
  const voters = members.filter((each) => each.name !== decider);
  return name !== decider && tier === Math.max(...voters.map((each) => each.tier));
}

/** Returns the reason why answers with this schema cannot be compared by the field, if any. */
function fieldFault(
  schema: Readonly<Record<string, unknown>> | undefined,
  field: string,
): string | undefined {
  if (schema === undefined) return `its agent has no output_schema with ${field}`;
  const { properties, required } = schema as {
    readonly properties?: Readonly<Record<string, { readonly type?: unknown; readonly enum?: unknown }>>;
    readonly required?: readonly unknown[];
  };
  const fieldSchema =
    properties !== undefined && Object.hasOwn(properties, field) ? properties[field] : undefined;
  if (fieldSchema === undefined) return `the output_schema of its agent has no ${field}`;
  if (required?.includes(field) !== true) return `${field} is not required in the output_schema of its agent`;
  if (Array.isArray(fieldSchema.enum) || fieldSchema.type === 'boolean' || fieldSchema.type === 'integer')
    return undefined;
  return `${field} must be an enum, a boolean or an integer, so that answers can be equal`;
}
