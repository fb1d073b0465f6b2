// Reduces an object's JSON Schema to its fields, with the facts that users need to write values: name,
// types, choices, default. Values are validated by the server.

import { isObject, type JsonSchema, resolveSchema } from '../../../config/value-schema/schema-parts.ts';

export type FieldType = 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object' | 'null';

export interface InputField {
  readonly name: string;
  /** Allowed types; empty if the schema names none. */
  readonly types: readonly FieldType[];
  readonly isRequired: boolean;
  readonly description: string;
  /** Allowed values, if the schema lists them. */
  readonly choices: readonly unknown[] | undefined;
  readonly hasDefault: boolean;
  readonly default: unknown;
  /** Schema of the field, after resolving references. */
  readonly schema: JsonSchema;
}

const typeNames: readonly string[] = ['string', 'integer', 'number', 'boolean', 'array', 'object', 'null'];

/**
 * Returns the fields in an object schema, in its order. `root` is the document that references point into.
 */
export function fieldsOf(schema: JsonSchema, root: JsonSchema = schema): InputField[] {
  const own = resolveReferences(schema, root);
  const required = listOf(own.required);
  return Object.entries(recordOf(own.properties)).map(([name, property]) =>
    fieldOf(name, recordOf(property), root, { isRequired: required.includes(name) }),
  );
}

/** Returns the field with this name and schema. */
export function fieldOf(
  name: string,
  schema: JsonSchema,
  root: JsonSchema,
  { isRequired }: { readonly isRequired: boolean },
): InputField {
  const own = resolveReferences(schema, root);
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

/** Returns a field that describes the array's items. */
export function itemField(field: InputField, root: JsonSchema): InputField {
  return fieldOf(field.name, recordOf(arrayPart(field, root).items), root, { isRequired: true });
}

/** Returns true if the object allows properties that the schema does not name. */
export function allowsAdditional(schema: JsonSchema): boolean {
  const { additionalProperties: others, patternProperties, properties } = schema;
  if (others === false) return false;
  // If the schema does not mention additional properties, an unknown name is probably a typing error.
  return others !== undefined || patternProperties !== undefined || properties === undefined;
}

/** Returns a text such as `integer`, `string or null`, `array of string`. */
export function typeText(field: InputField, root: JsonSchema): string {
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

/** Returns the schema with references resolved. An invalid reference is removed. */
export function resolveReferences(schema: JsonSchema, root: JsonSchema): JsonSchema {
  return resolveSchema(root, schema) ?? { ...schema, $ref: undefined };
}

export function recordOf(value: unknown): JsonSchema {
  return isObject(value) ? value : {};
}

function alternatives(schema: JsonSchema, root: JsonSchema): JsonSchema[] {
  return [...listOf(schema.anyOf), ...listOf(schema.oneOf)].map((each) =>
    resolveReferences(recordOf(each), root),
  );
}

function typesOf(schema: JsonSchema, root: JsonSchema): FieldType[] {
  const declaredTypes = typeof schema.type === 'string' ? [schema.type] : listOf(schema.type);
  const typeNamesFound =
    declaredTypes.length > 0
      ? declaredTypes
      : alternatives(schema, root).flatMap((each) => typesOfAlternative(each));
  if (typeNamesFound.length === 0) return typesOfValues(choicesOf(schema, root) ?? []);
  return [...new Set(typeNamesFound)].filter((each): each is FieldType => typeNames.includes(each as string));
}

/** Returns the alternative's declared types, else derives them from its members or values. */
function typesOfAlternative(schema: JsonSchema): readonly unknown[] {
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

/** Returns the alternative of the schema that is an array, else the schema itself. */
function arrayPart({ schema }: InputField, root: JsonSchema): JsonSchema {
  if (schema.items !== undefined) return schema;
  return (
    alternatives(schema, root).find((each) => each.type === 'array' || each.items !== undefined) ?? schema
  );
}

/** Returns the alternative of the schema that is an object, else the schema itself. */
export function objectPart({ schema }: InputField, root: JsonSchema): JsonSchema {
  if (schema.properties !== undefined) return schema;
  return (
    alternatives(schema, root).find((each) => each.type === 'object' || each.properties !== undefined) ??
    schema
  );
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
