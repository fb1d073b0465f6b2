// JSON Schema of flow files for editors: a node's `type` determines its `config`. The gateway reads the nodes
// separately, with the same schemas per type.

import type { TSchema } from 'typebox';
import { toFileSchema } from '../../json-schema/json-schema-form.ts';
import type { SchemaNode } from '../../reader/schema-descriptions.ts';
import { fleetSpec, inlineAgent } from '../fleets/fleet-json-schema.ts';
import type { NodeType } from './flow.ts';
import { MAX_CONNECTIONS, MAX_NODES } from './flow-bounds.ts';
import { connectionSchema, flowSchema, nodeSchema } from './flow-schema.ts';
import { allNodeTypeNames, resolveNodeType } from './node-aliases.ts';
import { nodeSchemas, nodeTypes } from './node-schemas.ts';

/** Member of `config` that may have any value, or that is read separately. */
type UntypedMember = { readonly key: string; readonly isRequired?: boolean; readonly schema: object };

const any = (description: string) => ({ description });
const anyByName = (description: string) => ({ description, type: 'object' });

const inlineFleet = { ...fleetSpec(), description: 'Inline fleet, instead of a name.' };

/** Members of `config` that nodeSchemas does not contain. */
const untypedMemberSchemas: Readonly<Partial<Record<NodeType, readonly UntypedMember[]>>> = {
  Agent: [{ key: 'spec', schema: inlineAgent }],
  Fleet: [{ key: 'spec', schema: inlineFleet }],
  Tool: [{ key: 'arguments', schema: anyByName('Arguments of the call; texts may contain templates.') }],
  HTTP: [{ key: 'body', schema: any('Request body, sent as JSON; texts may contain templates.') }],
  Transform: [
    { key: 'set', isRequired: true, schema: anyByName('Values by name; texts may contain templates.') },
  ],
  Loop: [
    { key: 'nodes', isRequired: true, schema: { description: 'Nodes.', $ref: '#/$defs/nodes' } },
    {
      key: 'connections',
      schema: { description: 'Connections between the nodes.', $ref: '#/$defs/connections' },
    },
  ],
  End: [{ key: 'output', schema: any('Output of the flow; texts may contain templates.') }],
};

/** Returns the schema without `$schema` and `title`. `kind` also accepts the alias AgentFlow. */
export function flowFile(): object {
  const file = toFileSchema(flowSchema);
  const { kind, spec, ...rest } = file.properties ?? {};
  const body = { nodes: { $ref: '#/$defs/nodes' }, connections: { $ref: '#/$defs/connections' } };
  return {
    ...file,
    properties: {
      ...rest,
      kind: { description: kind?.description, enum: ['Flow', 'AgentFlow'] },
      spec: { ...spec, required: ['nodes'], properties: { ...spec?.properties, ...body } },
    },
    $defs: {
      nodes: { description: 'Nodes.', type: 'array', minItems: 1, maxItems: MAX_NODES, items: node() },
      connections: {
        description: 'Connections between the nodes.',
        type: 'array',
        maxItems: MAX_CONNECTIONS,
        items: connection(),
      },
    },
  };
}

function node(): object {
  const { properties, ...rest } = toFileSchema(nodeSchema);
  return {
    ...rest,
    properties: {
      ...properties,
      type: { description: properties?.type?.description, enum: allNodeTypeNames },
      config: { type: 'object', description: 'Settings of the type.' },
    },
    allOf: nodeTypes.map((type) => ({
      if: { properties: { type: { enum: namesOf(type) } }, required: ['type'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
      then: { properties: { config: configOf(type) } },
    })),
  };
}

const connection = () => toFileSchema(connectionSchema);

const namesOf = (type: NodeType) =>
  allNodeTypeNames.filter((word) => {
    const nodeType = resolveNodeType(word);
    return 'type' in nodeType && nodeType.type === type;
  });

function configOf(type: NodeType): SchemaNode {
  const nodeSchema = toFileSchema(nodeSchemas[type] as TSchema);
  const untyped = untypedMemberSchemas[type] ?? [];
  const required = [
    ...((nodeSchema.required ?? []) as readonly string[]),
    ...untyped.filter(({ isRequired }) => isRequired === true).map(({ key }) => key),
  ];
  const properties = {
    ...nodeSchema.properties,
    ...Object.fromEntries(untyped.map(({ key, schema }) => [key, schema])),
  };
  return { ...nodeSchema, ...(required.length > 0 ? { required } : {}), properties } as SchemaNode;
}
