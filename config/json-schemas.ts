// JSON Schemas of the two files, for editors: what an operator may write. They differ from the TypeBox schemas in
// that a field with a default may be left out, and that `${VAR}` may stand where a value is expected.
// The build writes them to dist/schema/.

import type { TSchema } from 'typebox';
import {
  desktopEntrySchema,
  remoteKeys,
  serverIdPattern,
  stdioKeys,
  writtenEntrySchema,
} from './catalog-schema.ts';
import { gatewaySchema } from './gateway-schema.ts';
import type { SchemaNode } from './schema-words.ts';

const dialect = 'https://json-schema.org/draft/2020-12/schema';

const entry = { ...writable(writtenEntrySchema), oneOf: kinds(true) };
const desktopEntry = { ...writable(desktopEntrySchema), oneOf: kinds(false), additionalProperties: true };

export const jsonSchemas: Record<'gateway' | 'catalog', object> = {
  gateway: { $schema: dialect, title: 'Gateway configuration', ...writable(gatewaySchema) },
  catalog: {
    $schema: dialect,
    title: 'Server catalog',
    type: 'object',
    oneOf: [
      { required: ['servers'], propertyNames: { const: 'servers' } },
      { required: ['mcpServers'], not: { required: ['servers'] } },
    ],
    properties: {
      servers: {
        description: 'Servers by id.',
        type: 'object',
        propertyNames: { pattern: serverIdPattern, not: { enum: ['.', '..'] } },
        additionalProperties: entry,
      },
      mcpServers: {
        description: "A desktop client's servers by name; unknown keys are ignored with a warning.",
        type: 'object',
        additionalProperties: desktopEntry,
      },
    },
  },
};

/** Local or remote; in our own dialect the other kind's fields are refused. */
function kinds(isStrict: boolean): object[] {
  const without = (keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, false]));
  return [
    {
      required: ['command'],
      properties: {
        ...without(isStrict ? remoteKeys : ['url']),
        runtime: { not: { enum: ['http', 'sse'] } },
      },
    },
    {
      required: ['url'],
      properties: { ...without(isStrict ? stdioKeys : ['command']), runtime: { not: { const: 'stdio' } } },
    },
  ];
}

function writable(schema: TSchema): SchemaNode {
  return withReferences(schema as SchemaNode);
}

function withReferences(schema: SchemaNode): SchemaNode {
  if (schema.properties !== undefined) {
    const required = (schema.required ?? []).filter((key) => schema.properties?.[key]?.default === undefined);
    const { required: _, ...rest } = schema;
    return {
      ...rest,
      ...(required.length > 0 ? { required } : {}),
      properties: mapValues(schema.properties, withReferences),
      additionalProperties: false,
    } as SchemaNode;
  }
  if (schema.patternProperties !== undefined) {
    return { ...schema, patternProperties: mapValues(schema.patternProperties, withReferences) };
  }
  if (schema.items !== undefined) return { ...schema, items: withReferences(schema.items) };
  return orReference(schema);
}

/** A reference is checked when its value is known, so an editor takes any text with one. */
function orReference(schema: SchemaNode): SchemaNode {
  const { description, default: byDefault, writeOnly, anyOf, ...check } = schema;
  const options = anyOf?.map((option) => (option.items ? withReferences(option) : option)) ?? [check];
  return {
    ...(description === undefined ? {} : { description }),
    ...(byDefault === undefined ? {} : { default: byDefault }),
    ...(writeOnly === undefined ? {} : { writeOnly }),
    anyOf: [...options, { type: 'string', pattern: '\\$\\{' }],
  };
}

function mapValues(record: Readonly<Record<string, SchemaNode>>, change: (schema: SchemaNode) => SchemaNode) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
