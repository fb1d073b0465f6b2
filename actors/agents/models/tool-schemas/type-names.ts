// Types of JSON Schema: names from other languages, and types that keywords imply.

import type { SchemaObject } from './read-limits.ts';

const synonyms: Readonly<Record<string, string>> = {
  array: 'array',
  list: 'array',
  set: 'array',
  tuple: 'array',
  bool: 'boolean',
  boolean: 'boolean',
  int: 'integer',
  integer: 'integer',
  long: 'integer',
  null: 'null',
  none: 'null',
  decimal: 'number',
  double: 'number',
  float: 'number',
  number: 'number',
  dict: 'object',
  map: 'object',
  object: 'object',
  date: 'string',
  datetime: 'string',
  str: 'string',
  string: 'string',
  text: 'string',
  uuid: 'string',
};

/** Returns the declared types; undefined if any type is accepted or unknown. */
export function typeNames(type: unknown): readonly string[] | undefined {
  const names = (Array.isArray(type) ? type : [type]).map((each) => {
    const name = typeof each === 'string' ? each.toLowerCase() : '';
    return Object.hasOwn(synonyms, name) ? synonyms[name] : undefined;
  });
  return names.every((name) => name !== undefined) && names.length > 0 ? names : undefined;
}

const implying: readonly (readonly [string, readonly string[]])[] = [
  ['object', ['properties', 'additionalProperties', 'patternProperties', 'propertyNames']],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems']],
  ['string', ['minLength', 'maxLength', 'pattern', 'format']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
];

/** Returns the type that the keywords imply; undefined if they imply none. */
export function impliedTypes(schema: SchemaObject): readonly string[] | undefined {
  if (Array.isArray(schema.required)) return ['object'];
  const found = implying.find(([, keywords]) => keywords.some((each) => schema[each] !== undefined));
  return found && [found[0]];
}

export function typeOfValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}
