// Checks a fleet's agents: they must exist, and the answers of voters must have the voted field.

import { joinPath } from '../../reader/field-path.ts';
import type { Problem } from '../../reader/problem.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { suggest } from '../../reader/suggest.ts';
import type { Agent } from '../agents/agent.ts';
import type { Consensus, Fleet, FleetMember } from './fleet.ts';

/**
 * `agents` contains all agents by name, undefined for those with errors. `severity` applies to unknown names:
 * they may be in files that were not loaded. `within` is the path if the fleet is inline.
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
    if (agent === undefined) continue;
    checkVoter(reader, path, fleet, member, agent);
    checkLeader(reader, path, fleet, member, agent);
  }
}

/** A hierarchical fleet's leader calls the members as tools. */
function checkLeader(
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

/** Checks the answers of a model. The answers of programs and scripts are unknown in advance. */
function checkVoter(
  reader: SchemaReader,
  path: string,
  fleet: Fleet,
  member: FleetMember,
  agent: Agent,
): void {
  const { coordination } = fleet;
  const by = 'by' in coordination ? coordination.by : undefined;
  if (typeof by !== 'object' || agent.runtime.kind !== 'model' || !doesVote(fleet, by, member)) return;
  const fault = fieldFault(agent.runtime.output_schema, by.field);
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
