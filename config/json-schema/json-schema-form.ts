// From a schema of what is loaded to the JSON Schema of what may be written: fields with a default may be left out,
// unknown ones are refused, and `${VAR}` may stand where a value is expected.

import type { TSchema } from 'typebox';
import type { SchemaNode } from '../reader/schema-words.ts';

/** The JSON Schema for editors. */
export function writable(schema: TSchema): SchemaNode {
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
  const { description, default: byDefault, writeOnly, shownAs: _, secretBy: __, anyOf, ...check } = schema;
  const options = anyOf?.map((option) =>
    option.items || option.properties ? withReferences(option) : withoutOwnWords(option),
  ) ?? [check];
  return {
    ...(description === undefined ? {} : { description }),
    ...(byDefault === undefined ? {} : { default: byDefault }),
    ...(writeOnly === undefined ? {} : { writeOnly }),
    anyOf: [...options, { type: 'string', pattern: '\\$\\{' }],
  };
}

/** What editors do not know. */
function withoutOwnWords({ shownAs: _, secretBy: __, ...schema }: SchemaNode): SchemaNode {
  return schema;
}

/** The same keys with what `change` makes of the schemas. */
export function mapValues(
  record: Readonly<Record<string, SchemaNode>>,
  change: (schema: SchemaNode) => SchemaNode,
): Record<string, SchemaNode> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
