// JSON Schema of fleet files for editors. Adds inline agents (defined within the fleet), which the gateway
// reads with a separate schema.

import { toFileSchema } from '../../json-schema/json-schema-form.ts';
import type { SchemaNode } from '../../reader/schema-descriptions.ts';
import { agentSpecSchema } from '../agents/agent-schema.ts';
import { fleetSchema } from './fleet-schema.ts';

const fileSchema = toFileSchema(fleetSchema);

/** JSON Schema of an inline agent. */
export const inlineAgent = {
  ...toFileSchema(agentSpecSchema),
  description: 'Inline agent, instead of a name.',
};

/** Returns the schema without `$schema` and `title`. `kind` also accepts the alias AgentFleet. */
export function fleetFile(): SchemaNode {
  const { kind, spec, ...rest } = fileSchema.properties ?? {};
  const kinds = { description: kind?.description, enum: ['Fleet', 'AgentFleet'] };
  const properties = { ...rest, kind: kinds, spec: { ...spec, ...fleetSpec() } };
  return { ...fileSchema, properties } as SchemaNode;
}

/** Returns the schema of `spec`, for a file or a flow node. */
export function fleetSpec(): SchemaNode {
  const spec = fileSchema.properties?.spec;
  const { agents } = spec?.properties ?? {};
  const members = { ...agents, items: withMember(agents?.items, 'spec', inlineAgent as SchemaNode) };
  return withMember(spec, 'agents', members as SchemaNode);
}

function withMember(schema: SchemaNode | undefined, key: string, member: SchemaNode): SchemaNode {
  return { ...schema, properties: { ...schema?.properties, [key]: member } } as SchemaNode;
}
