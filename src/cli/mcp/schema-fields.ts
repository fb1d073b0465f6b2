// The fields of an object as its JSON Schema has them: what a person must know to write a value of each. Of a schema only that is
// read; whether a value is good is for the server to say.

import {
  isObject,
  type JsonSchema,
  resolved as replaced,
} from '../../../config/value-schema/schema-parts.ts';

export type FieldType = 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object' | 'null';

export interface Field {
  readonly name: string;
  /** All that its value may be; empty where the schema does not say. */
  readonly types: readonly FieldType[];
  readonly isRequired: boolean;
  readonly description: string;
  /** The values that are allowed, where there is a list of them. */
  readonly choices: readonly unknown[] | undefined;
  readonly hasDefault: boolean;
  readonly default: unknown;
  /** With references and combinations of one replaced. */
  readonly schema: JsonSchema;
}

const typeNames: readonly string[] = ['string', 'integer', 'number', 'boolean', 'array', 'object', 'null'];

/** The fields of the object that `schema` describes, in its order; `root` is what references are resolved in. */
export function fieldsOf(schema: JsonSchema, root: JsonSchema = schema): Field[] {
  const own = resolved(schema, root);
  const required = listOf(own.required);
  return Object.entries(recordOf(own.properties)).map(([name, property]) =>
    fieldOf(name, recordOf(property), root, required.includes(name)),
  );
}

/** A field of that name and schema. */
export function fieldOf(name: string, schema: JsonSchema, root: JsonSchema, isRequired: boolean): Field {
  const own = resolved(schema, root);
  return {
    name,
    types: typesOf(own, root),
    isRequired,
    description: typeof own.description === 'string' ? own.description : '',
    choices: choicesOf(own, root),
    hasDefault: Object.hasOwn(own, 'default'),
    default: own.default,
    schema: own,
  };
}

/** What each item of an array is. */
export function itemField(field: Field, root: JsonSchema): Field {
  return fieldOf(field.name, recordOf(arrayPart(field, root).items), root, true);
}

/** Whether the object may have members that its schema does not name. */
export function takesOthers(schema: JsonSchema): boolean {
  const { additionalProperties: others, patternProperties, properties } = schema;
  if (others === false) return false;
  // Where nothing is said about others, a name that is not known is taken for a slip.
  return others !== undefined || patternProperties !== undefined || properties === undefined;
}

/** `integer`, `string or null`, `array of string`. */
export function typeText(field: Field, root: JsonSchema): string {
  const { types } = field;
  if (types.length === 0) return 'any';
  return types
    .map((type) => {
      if (type !== 'array') return type;
      const { types: items } = itemField(field, root);
      return items.length === 0 ? 'array' : `array of ${items.join(' or ')}`;
    })
    .join(' or ');
}

/** Returns the schema with its references replaced. */
export function resolved(schema: JsonSchema, root: JsonSchema): JsonSchema {
  return replaced(root, schema) ?? { ...schema, $ref: undefined };
}

export function recordOf(value: unknown): JsonSchema {
  return isObject(value) ? value : {};
}

function alternatives(schema: JsonSchema, root: JsonSchema): JsonSchema[] {
  return [...listOf(schema.anyOf), ...listOf(schema.oneOf)].map((each) => resolved(recordOf(each), root));
}

function typesOf(schema: JsonSchema, root: JsonSchema): FieldType[] {
  const written = typeof schema.type === 'string' ? [schema.type] : listOf(schema.type);
  const named = written.length > 0 ? written : alternatives(schema, root).flatMap((each) => typesNamed(each));
  if (named.length === 0) return typesOfValues(choicesOf(schema, root) ?? []);
  return [...new Set(named)].filter((each): each is FieldType => typeNames.includes(each as string));
}

/** Of one that says nothing else, its values say it. */
function typesNamed(schema: JsonSchema): readonly unknown[] {
  const { type, properties, items } = schema;
  if (type !== undefined) return typeof type === 'string' ? [type] : listOf(type);
  if (properties !== undefined) return ['object'];
  if (items !== undefined) return ['array'];
  return typesOfValues(choicesOf(schema, schema) ?? []);
}

function typesOfValues(values: readonly unknown[]): FieldType[] {
  const types = values.map((value): FieldType => {
    if (value === null) return 'null';
    if (Array.isArray(value)) return 'array';
    return typeof value as FieldType;
  });
  return [...new Set(types)];
}

function choicesOf(schema: JsonSchema, root: JsonSchema): readonly unknown[] | undefined {
  if (Object.hasOwn(schema, 'const')) return [schema.const];
  if (Array.isArray(schema.enum)) return schema.enum;
  const parts = alternatives(schema, root);
  if (parts.length === 0) return undefined;
  const lists = parts.map((each) =>
    each.type === 'null' ? [null] : Object.hasOwn(each, 'const') ? [each.const] : each.enum,
  );
  return lists.every((list) => Array.isArray(list)) ? lists.flat() : undefined;
}

/** The alternative that is an array, or the schema itself. */
function arrayPart({ schema }: Field, root: JsonSchema): JsonSchema {
  if (schema.items !== undefined) return schema;
  return (
    alternatives(schema, root).find((each) => each.type === 'array' || each.items !== undefined) ?? schema
  );
}

/** The alternative that is an object, or the schema itself. */
export function objectPart({ schema }: Field, root: JsonSchema): JsonSchema {
  if (schema.properties !== undefined) return schema;
  return (
    alternatives(schema, root).find((each) => each.type === 'object' || each.properties !== undefined) ??
    schema
  );
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
