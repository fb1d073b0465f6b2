// The JSON Schema of a flow, for editors: what the `config` of a node may hold follows from its `type`. The reader reads nodes one by one,
// along the same schemas.

import type { TSchema } from 'typebox';
import { writable } from '../../json-schema/json-schema-form.ts';
import type { SchemaNode } from '../../reader/schema-words.ts';
import { fleetSpec, inlineAgent } from '../fleets/fleet-json-schema.ts';
import type { NodeType } from './flow.ts';
import { MAX_CONNECTIONS, MAX_NODES } from './flow-bounds.ts';
import { connectionSchema, flowSchema, nodeSchema } from './flow-schema.ts';
import { nodeTypeMeant, typeSpellings } from './node-aliases.ts';
import { nodeSchemas, nodeTypes } from './node-schemas.ts';

type Free = { readonly key: string; readonly isRequired?: boolean; readonly schema: object };

const any = (description: string) => ({ description });
const anyByName = (description: string) => ({ description, type: 'object' });

const inlineFleet = { ...fleetSpec(), description: 'In place of a name: its fleet.' };

/** Members of `config` that stand in no schema of the reader. */
const freeMembers: Readonly<Partial<Record<NodeType, readonly Free[]>>> = {
  Agent: [{ key: 'spec', schema: inlineAgent }],
  Fleet: [{ key: 'spec', schema: inlineFleet }],
  Tool: [{ key: 'arguments', schema: anyByName('Arguments of the call; templates in any text.') }],
  HTTP: [{ key: 'body', schema: any('Sent as JSON; templates in any text.') }],
  Transform: [{ key: 'set', isRequired: true, schema: anyByName('Values by name; templates in any text.') }],
  Loop: [
    { key: 'nodes', isRequired: true, schema: { description: 'Its steps.', $ref: '#/$defs/nodes' } },
    {
      key: 'connections',
      schema: { description: 'What leads from one to the other.', $ref: '#/$defs/connections' },
    },
  ],
  End: [{ key: 'output', schema: any('What the flow gives; templates in any text.') }],
};

/** Without its dialect and title; of both spellings of the kind. */
export function flowFile(): object {
  const file = writable(flowSchema);
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
      nodes: { description: 'Its steps.', type: 'array', minItems: 1, maxItems: MAX_NODES, items: node() },
      connections: {
        description: 'What leads from one to the other.',
        type: 'array',
        maxItems: MAX_CONNECTIONS,
        items: connection(),
      },
    },
  };
}

function node(): object {
  const { properties, ...rest } = writable(nodeSchema);
  return {
    ...rest,
    properties: {
      ...properties,
      type: { description: properties?.type?.description, enum: typeSpellings },
      config: { type: 'object', description: 'Settings of the type.' },
    },
    allOf: nodeTypes.map((type) => ({
      if: { properties: { type: { enum: spellingsOf(type) } }, required: ['type'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
      then: { properties: { config: configOf(type) } },
    })),
  };
}

const connection = () => writable(connectionSchema);

const spellingsOf = (type: NodeType) =>
  typeSpellings.filter((word) => {
    const meant = nodeTypeMeant(word);
    return 'type' in meant && meant.type === type;
  });

function configOf(type: NodeType): SchemaNode {
  const own = writable(nodeSchemas[type] as TSchema);
  const free = freeMembers[type] ?? [];
  const required = [
    ...((own.required ?? []) as readonly string[]),
    ...free.filter(({ isRequired }) => isRequired === true).map(({ key }) => key),
  ];
  const properties = {
    ...own.properties,
    ...Object.fromEntries(free.map(({ key, schema }) => [key, schema])),
  };
  return { ...own, ...(required.length > 0 ? { required } : {}), properties } as SchemaNode;
}
