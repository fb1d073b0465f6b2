// Validates an agent's `output_schema`, the JSON Schema of its answers. It may contain only keywords that
// models and the check of answers support. Variables (`${NAME}`) are not substituted in it. Patterns must be
// valid for RE2, so that checks take bounded time.

import { joinPath } from '../../reader/field-path.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { plainValue } from '../../reader/yaml-members.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import { compilePattern } from '../fields/patterns.ts';

type Json = Readonly<Record<string, unknown>>;

const MAX_CHARACTERS = 65_536;

const types = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];
/** Keywords with one schema. */
const inner = new Set(['items', 'additionalProperties', 'not']);
/** Keywords with a list of schemas. */
const innerLists = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
/** Keywords with schemas by name. */
const innerMaps = new Set(['properties']);
/** Keywords with a number. */
const numbers = [
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
];
/** Keywords that describe the schema; validation ignores them. */
const notes = ['$schema', 'title', 'description', 'default', 'examples', 'format', 'deprecated', '$comment'];
const others = ['type', 'enum', 'const', 'required', 'pattern', 'uniqueItems'];
const supportedKeywords = new Set([...inner, ...innerLists, ...innerMaps, ...numbers, ...notes, ...others]);

/** Returns the schema; undefined if it is missing or invalid. */
export function readOutputSchema(
  reader: SchemaReader,
  tree: YamlTree | undefined,
  path: string,
): Json | undefined {
  if (tree === undefined) return undefined;
  const schema = plainValue(tree);
  if (tree.kind !== 'map' || (schema as Json).type !== 'object') {
    reader.report(path, 'should be a JSON Schema with type: object, since an answer is one JSON object');
    return undefined;
  }
  const length = JSON.stringify(schema).length;
  if (length > MAX_CHARACTERS) {
    reader.report(path, `has ${length} characters as JSON; the maximum is ${MAX_CHARACTERS}`);
    return undefined;
  }
  const before = reader.problems.length;
  check(reader, schema, path);
  return reader.problems.length === before ? (schema as Json) : undefined;
}

function check(reader: SchemaReader, schema: unknown, path: string): void {
  // In JSON Schema, `true` and `false` are schemas too.
  if (typeof schema === 'boolean') return;
  if (!isJson(schema)) reader.report(path, 'should be a schema: a mapping');
  else checkKeywords(reader, schema, path);
}

function checkKeywords(reader: SchemaReader, schema: Json, path: string): void {
  for (const [key, value] of Object.entries(schema)) {
    const fieldPath = joinPath(path, key);
    if (!supportedKeywords.has(key)) reader.report(fieldPath, unknownFault(key));
    else if (inner.has(key)) check(reader, value, fieldPath);
    else if (innerLists.has(key)) checkEach(reader, value, fieldPath);
    else if (innerMaps.has(key)) checkMembers(reader, value, fieldPath);
    else {
      const fault = faultOf(key, value);
      if (fault !== undefined) reader.report(fieldPath, fault);
    }
  }
}

function checkEach(reader: SchemaReader, value: unknown, path: string): void {
  if (!Array.isArray(value) || value.length === 0) reader.report(path, 'should be a list of schemas');
  else for (const [index, each] of value.entries()) check(reader, each, joinPath(path, index));
}

function checkMembers(reader: SchemaReader, value: unknown, path: string): void {
  if (!isJson(value)) reader.report(path, 'should be a mapping from names to schemas');
  else for (const [name, each] of Object.entries(value)) check(reader, each, joinPath(path, name));
}

function faultOf(key: string, value: unknown): string | undefined {
  if (numbers.includes(key)) return typeof value === 'number' ? undefined : 'should be a number';
  if (key === 'type')
    return isType(value) ? undefined : `should be one of ${types.join(', ')}, or a list of them`;
  if (key === 'enum')
    return Array.isArray(value) && value.length > 0 ? undefined : 'should be a list of values';
  if (key === 'required') return isTexts(value) ? undefined : 'should be a list of names';
  if (key === 'uniqueItems') return typeof value === 'boolean' ? undefined : 'should be true or false';
  // `const` and the descriptions may have any value.
  if (key !== 'pattern') return undefined;
  if (typeof value !== 'string') return 'should be a regular expression';
  const compiled = compilePattern(value);
  return 'fault' in compiled ? compiled.fault : undefined;
}

const unknownFault = (key: string) =>
  key.startsWith('$') || key === 'definitions'
    ? 'is not supported: write the schema inline'
    : `is not supported; supported keywords: ${[...supportedKeywords].filter((each) => !notes.includes(each)).join(', ')}`;

const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isTexts = (value: unknown) => Array.isArray(value) && value.every((each) => typeof each === 'string');

const isType = (value: unknown) =>
  (Array.isArray(value) ? value : [value]).every((each) => types.includes(each)) &&
  (!Array.isArray(value) || value.length > 0);
