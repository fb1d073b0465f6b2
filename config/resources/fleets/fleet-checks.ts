// What a fleet needs of its agents: that they are there, and that those who vote have the field on which is voted.

import { joinPath } from '../../reader/field-path.ts';
import type { Problem } from '../../reader/problem.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { suggest } from '../../reader/suggest.ts';
import type { Agent } from '../agents/agent.ts';
import type { Consensus, Fleet, FleetMember } from './fleet.ts';

/**
 * `agents` are all that were found, by their names, undefined for one with an error; `severity` is of names that are not there: they may be in files that were not
 * given. `within` is the path of a fleet that is written in another document.
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
      const at = joinPath(path, reader.has(joinPath(path, 'agent')) ? 'agent' : 'name');
      const near = suggest(String(member.agent), [...agents.keys()]);
      const advice = near === undefined ? '' : `; did you mean ${near}?`;
      reader.report(at, `there is no agent ${member.agent}${advice}`, severity);
      continue;
    }
    if (agent === undefined) continue;
    checkVoter(reader, path, fleet, member, agent);
    checkLeader(reader, path, fleet, member, agent);
  }
}

/** Whose members are its tools. */
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
      `mode hierarchical needs a manager with a model, which asks the members as its tools; ${name} has none`,
    );
}

/** Of one whose answers come from a program or a script nothing is known beforehand. */
function checkVoter(
  reader: SchemaReader,
  path: string,
  fleet: Fleet,
  member: FleetMember,
  agent: Agent,
): void {
  const { coordination } = fleet;
  const by = 'by' in coordination ? coordination.by : undefined;
  if (typeof by !== 'object' || agent.runtime.kind !== 'model' || !votes(fleet, by, member)) return;
  const fault = fieldFault(agent.runtime.output_schema, by.field);
  if (fault !== undefined) reader.report(joinPath(path, 'name'), `${member.name} cannot vote: ${fault}`);
}

function votes({ members }: Fleet, { on_none }: Consensus, { name, tier }: FleetMember): boolean {
  const decider = on_none === 'fail' ? undefined : on_none.agent;
  const voters = members.filter((each) => each.name !== decider);
  return name !== decider && tier === Math.max(...voters.map((each) => each.tier));
}

function fieldFault(
  schema: Readonly<Record<string, unknown>> | undefined,
  field: string,
): string | undefined {
  if (schema === undefined) return `its agent has no output_schema, which would have ${field}`;
  const { properties, required } = schema as {
    readonly properties?: Readonly<Record<string, { readonly type?: unknown; readonly enum?: unknown }>>;
    readonly required?: readonly unknown[];
  };
  const own = properties !== undefined && Object.hasOwn(properties, field) ? properties[field] : undefined;
  if (own === undefined) return `the output_schema of its agent has no ${field}`;
  if (required?.includes(field) !== true)
    return `${field} is not among the required of the output_schema of its agent`;
  if (Array.isArray(own.enum) || own.type === 'boolean' || own.type === 'integer') return undefined;
  return `${field} is neither an enum nor a boolean nor an integer, so that two answers would hardly be the same`;
}
