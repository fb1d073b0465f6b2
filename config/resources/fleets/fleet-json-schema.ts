// The JSON Schema of a fleet, for editors: with the agents that are written in it, which the reader reads apart.

import { writable } from '../../json-schema/json-schema-form.ts';
import type { SchemaNode } from '../../reader/schema-words.ts';
import { agentSpecSchema } from '../agents/agent-schema.ts';
import { fleetSchema } from './fleet-schema.ts';

const named = writable(fleetSchema);

/** An agent in the place where it is needed. */
export const inlineAgent = { ...writable(agentSpecSchema), description: 'In place of a name: its agent.' };

/** Without its dialect and title; of both spellings of the kind. */
export function fleetFile(): SchemaNode {
  const { kind, spec, ...rest } = named.properties ?? {};
  const kinds = { description: kind?.description, enum: ['Fleet', 'AgentFleet'] };
  const properties = { ...rest, kind: kinds, spec: { ...spec, ...fleetSpec() } };
  return { ...named, properties } as SchemaNode;
}

/** What stands under `spec`, in a file of its own and in a node of a flow. */
export function fleetSpec(): SchemaNode {
  const spec = named.properties?.spec;
  const { agents } = spec?.properties ?? {};
  const members = { ...agents, items: withMember(agents?.items, 'spec', inlineAgent as SchemaNode) };
  return withMember(spec, 'agents', members as SchemaNode);
}

function withMember(schema: SchemaNode | undefined, key: string, member: SchemaNode): SchemaNode {
  return { ...schema, properties: { ...schema?.properties, [key]: member } } as SchemaNode;
}
