// Detects result schemas (`outputSchema`) that validators cannot compile: wrong type of a keyword value,
// invalid pattern, unresolvable reference. Clients with SDK v1 compile all result schemas when they read a
// list, and reject the whole list on an error. Some rare valid schemas (nested or unusual $id, references by
// anchor) are rejected too, which keeps this check small.
//
// The running time is linear in the size of the schema: each subschema is visited once, and patterns are not
// executed.

import { isObject, type JsonSchema, resolveReference } from '../../../../config/value-schema/schema-parts.ts';

/** Returns true for a valid keyword value; `visit` checks a subschema. */
type Keyword = (value: unknown, visit: (schema: unknown) => boolean) => boolean;

const isNumber: Keyword = (value) => typeof value === 'number';
const isFlag: Keyword = (value) => typeof value === 'boolean';
const isText: Keyword = (value) => typeof value === 'string';
const isSchema: Keyword = (value, visit) => visit(value);
const areSchemas: Keyword = (value, visit) => Array.isArray(value) && value.length > 0 && value.every(visit);
const isRecord: Keyword = (value, visit) => isObject(value) && Object.values(value).every(visit);
const isFilled: Keyword = (value) => Array.isArray(value) && value.length > 0;
const isUnsupported: Keyword = () => false;

/** Web address or relative path. Validators fail on references below other identifiers, such as `%`. */
const SIMPLE_ID = /^(?:https?:\/\/[\w.-]+(?::\d{1,4})?(?=[/#]|$))?(?!.*\/\/)[\w./~-]*#?$/;

// Validators look up identifiers in an object, so names such as `toString` are not possible.
const isId: Keyword = (value) =>
  typeof value === 'string' && SIMPLE_ID.test(value) && !(value in Object.prototype);

const types = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object'];
const isType: Keyword = (value) =>
  Array.isArray(value)
    ? value.length > 0 && value.every((type) => types.includes(type))
    : types.includes(value as string);

const isPattern: Keyword = (value) => {
  try {
    new RegExp(value as string, 'u');
    return typeof value === 'string';
  } catch {
    return false;
  }
};

const arePatterns: Keyword = (value, visit) =>
  isRecord(value, visit) && Object.keys(value as JsonSchema).every((pattern) => isPattern(pattern, visit));

const keywords = new Map<string, Keyword>([
  ['type', isType],
  ['enum', isFilled],
  ['required', (value) => Array.isArray(value) && value.every((name) => typeof name === 'string')],
  ...[
    'maximum',
    'minimum',
    'exclusiveMaximum',
    'exclusiveMinimum',
    'multipleOf',
    'maxLength',
    'minLength',
  ].map((name): [string, Keyword] => [name, isNumber]),
  ...['maxItems', 'minItems', 'maxProperties', 'minProperties', 'maxContains', 'minContains'].map(
    (name): [string, Keyword] => [name, isNumber],
  ),
  ...['uniqueItems', 'nullable'].map((name): [string, Keyword] => [name, isFlag]),
  ...['format', '$schema', '$comment', '$anchor'].map((name): [string, Keyword] => [name, isText]),
  ...[
    'not',
    'if',
    'then',
    'else',
    'contains',
    'propertyNames',
    'additionalItems',
    'additionalProperties',
  ].map((name): [string, Keyword] => [name, isSchema]),
  ['items', (value, visit) => (Array.isArray(value) ? areSchemas(value, visit) : visit(value))],
  ...['allOf', 'anyOf', 'oneOf'].map((name): [string, Keyword] => [name, areSchemas]),
  ...['properties', '$defs', 'definitions', 'dependentSchemas'].map((name): [string, Keyword] => [
    name,
    isRecord,
  ]),
  ['patternProperties', arePatterns],
  ['pattern', isPattern],
  // Validators reject `id` of draft 4. The other keywords are too rare for a check.
  ...['id', 'dependencies', '$dynamicRef', '$recursiveRef'].map((name): [string, Keyword] => [
    name,
    isUnsupported,
  ]),
]);

/** Returns true if clients can compile the schema. */
export function isCompilable(root: unknown): boolean {
  const visited = new Set<unknown>();
  const visit = (schema: unknown): boolean => {
    if (typeof schema === 'boolean' || visited.has(schema)) return true;
    if (!isObject(schema)) return false;
    visited.add(schema);
    // Validators accept `nullable` only together with `type`.
    if (schema.nullable !== undefined && schema.type === undefined) return false;
    return Object.entries(schema).every(([name, value]) => {
      if (name === '$ref') return typeof value === 'string' && visit(resolveReference(root, value));
      // A nested identifier changes the base of references.
      if (name === '$id') return schema === root && isId(value, visit);
      // Validators ignore unknown keywords.
      return keywords.get(name)?.(value, visit) ?? true;
    });
  };
  return visit(root);
}
