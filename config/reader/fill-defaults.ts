// Adds the schema's defaults to a value that SchemaReader has validated. The reader itself returns only the
// fields of the file.

import type { Static, TSchema } from 'typebox';
import type { SchemaNode } from './schema-descriptions.ts';

/** A value as a file contains it, before defaults: every field may be absent, at any depth. */
export type Written<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [K in keyof T]?: Written<T[K]> | undefined }
    : T;

/** Returns a new value with defaults; `written` must be validated against the same schema. */
export function fillDefaults<S extends TSchema>(schema: S, written: Written<Static<S>>): Static<S> {
  return fill(schema as SchemaNode, written) as Static<S>;
}

function fill(schema: SchemaNode, written: unknown): unknown {
  const value = written === undefined ? structuredClone(schema.default) : written;
  if (schema.properties === undefined || typeof value !== 'object' || value === null) return value;
  const members = value as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(schema.properties).map(([key, member]) => [key, fill(member, members[key])]),
  );
}
