// What a fleet needs of its agents: that they are there, and that those who vote have the field on which is voted.

import { joinPath } from '../../reader/field-path.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { suggest } from '../../reader/suggest.ts';
import type { Agent } from '../agents/agent.ts';
import type { Consensus, Fleet, FleetMember } from './fleet.ts';

/** `agents` are all that were loaded, by their names. */
export function checkFleet(reader: SchemaReader, fleet: Fleet, agents: ReadonlyMap<string, Agent>): void {
  for (const [index, member] of fleet.members.entries()) {
    const path = joinPath('spec.agents', index);
    const agent = typeof member.agent === 'string' ? agents.get(member.agent) : member.agent;
    if (agent === undefined) reportMissing(reader, path, String(member.agent), [...agents.keys()]);
    else checkVoter(reader, path, fleet, member, agent);
  }
}

function reportMissing(reader: SchemaReader, path: string, name: string, known: readonly string[]): void {
  const near = suggest(name, known);
  const at = reader.has(joinPath(path, 'agent')) ? joinPath(path, 'agent') : joinPath(path, 'name');
  reader.report(at, `there is no agent ${name}${near === undefined ? '' : `; did you mean ${near}?`}`);
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
