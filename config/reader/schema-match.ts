// Compares values with a schema node: kinds of values (mapping, list, scalar) before the substitution of
// `${VAR}`, the values of scalars after it.

import type { SchemaNode } from './schema-descriptions.ts';
import type { YamlTree } from './yaml-tree.ts';

/** Returns true if the kind of value can match; scalar types are checked after substitution. */
export function canMatch(schema: SchemaNode, tree: YamlTree): boolean {
  if (schema.anyOf !== undefined) return schema.anyOf.some((option) => canMatch(option, tree));
  if (schema.type === 'object') return tree.kind === 'map';
  if (schema.type === 'array') return tree.kind === 'list';
  return tree.kind === 'scalar';
}

/** Converts the text of a substituted variable to the number or boolean that the schema expects. */
export function coerce(schema: SchemaNode, text: string): unknown {
  const isNumeric = schema.type === 'number' || schema.type === 'integer';
  if (isNumeric && /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/.test(text)) return Number(text);
  if (schema.type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

/** Returns true if the schema accepts the scalar. */
export function isValid(schema: SchemaNode, value: unknown): boolean {
  if (schema.enum !== undefined) return schema.enum.includes(value);
  switch (schema.type) {
    case 'boolean':
      return typeof value === 'boolean';
    case 'number':
    case 'integer':
      return typeof value === 'number' && isWithin(schema, value);
    case 'string':
      if (typeof value !== 'string' || value.length < (schema.minLength ?? 0)) return false;
      if (schema.maxLength !== undefined && value.length > schema.maxLength) return false;
      return schema.pattern === undefined || new RegExp(schema.pattern).test(value);
    default:
      return false;
  }
}

function isWithin(schema: SchemaNode, value: number): boolean {
  if (!Number.isFinite(value) || (schema.type === 'integer' && !Number.isSafeInteger(value))) return false;
  if (schema.minimum !== undefined && value < schema.minimum) return false;
  if (schema.exclusiveMinimum !== undefined && value <= schema.exclusiveMinimum) return false;
  return schema.maximum === undefined || value <= schema.maximum;
}
