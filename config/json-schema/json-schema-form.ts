// Converts a schema of loaded values to the JSON Schema of files: fields with a default are optional, unknown
// fields are refused, and `${VAR}` is allowed for every value.

import type { TSchema } from 'typebox';
import type { SchemaNode } from '../reader/schema-descriptions.ts';

/** Returns the JSON Schema for editors. */
export function toFileSchema(schema: TSchema): SchemaNode {
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

/** A text with `${VAR}` is checked after substitution, so editors accept any such text. */
function orReference(schema: SchemaNode): SchemaNode {
  const { description, default: byDefault, writeOnly, shownAs: _, secretBy: __, anyOf, ...check } = schema;
  const options = anyOf?.map((option) =>
    option.items || option.properties ? withReferences(option) : withoutInternalKeywords(option),
  ) ?? [check];
  return {
    ...(description === undefined ? {} : { description }),
    ...(byDefault === undefined ? {} : { default: byDefault }),
    ...(writeOnly === undefined ? {} : { writeOnly }),
    anyOf: [...options, { type: 'string', pattern: '\\$\\{' }],
  };
}

/** Removes keywords that editors do not support. */
function withoutInternalKeywords({ shownAs: _, secretBy: __, ...schema }: SchemaNode): SchemaNode {
  return schema;
}

/** Applies `change` to each schema. */
export function mapValues(
  record: Readonly<Record<string, SchemaNode>>,
  change: (schema: SchemaNode) => SchemaNode,
): Record<string, SchemaNode> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
