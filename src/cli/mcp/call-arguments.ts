// Parses the words of `tools call` to arguments for a tool: `name=value` with the types of the tool's
// schema, and `name:=JSON` for exact values. A value stays text if the schema allows text. All errors are
// reported together, with suggestions, before the request is sent. argument-words.ts is the inverse.

import { isSame, type JsonSchema } from '../../../config/value-schema/schema-parts.ts';
import { hintFor } from '../api/unknown-name.ts';
import {
  allowsAdditional,
  type FieldType,
  fieldsOf,
  type InputField,
  itemField,
  objectPart,
  resolveReferences,
  typeText,
} from './schema-fields.ts';

export type Arguments = Readonly<Record<string, unknown>>;

export interface ArgumentsResult {
  readonly values: Arguments;
  /** Errors, as sentences. */
  readonly problems: readonly string[];
}

interface ArgumentWord {
  readonly name: string;
  /** Complete dotted path as typed, for messages. `name` may be only the last part. */
  readonly path: string;
  readonly text: string;
  /** True for `:=`. */
  readonly isJson: boolean;
}

/**
 * Parses `words` with the tool's input schema. `base` is the object of --input, whose members the words
 * replace.
 */
export function readArguments(
  schema: JsonSchema,
  words: readonly string[],
  base: Arguments = {},
): ArgumentsResult {
  const problems: string[] = [];
  const resolvedSchema = resolveReferences(schema, schema);
  const names = fieldsOf(resolvedSchema, schema).map(({ name }) => name);
  const read = words.flatMap((word) => {
    const found = parseWord(word, names);
    if (found === undefined) problems.push(`${quote(word)} is not name=value`);
    return found ?? [];
  });
  const values = readMembers(resolvedSchema, schema, read, base, problems);
  const givenPaths = new Set(read.map(({ path }) => path));
  problems.push(
    ...findMissing(resolvedSchema, schema, values, '').flatMap(({ path, text }) =>
      givenPaths.has(path) ? [] : [text],
    ),
  );
  return { values, problems };
}

function parseWord(word: string, names: readonly string[]): ArgumentWord | undefined {
  const at = word.indexOf('=');
  if (at < 1) return undefined;
  const name = word.slice(0, at);
  const isJson = name.length > 1 && name.endsWith(':') && !names.includes(name);
  const path = isJson ? name.slice(0, -1) : name;
  return { name: path, path, text: word.slice(at + 1), isJson };
}

function readMembers(
  schema: JsonSchema,
  root: JsonSchema,
  words: readonly ArgumentWord[],
  base: Arguments,
  problems: string[],
): Arguments {
  const fields = fieldsOf(schema, root);
  const byName = new Map<string, ArgumentWord[]>();
  const nested = new Map<string, ArgumentWord[]>();
  for (const word of words) {
    const at = word.name.indexOf('.');
    const head = word.name.slice(0, Math.max(0, at));
    const outer = fields.find(({ name, types }) => name === head && types.includes('object'));
    const isNested = outer !== undefined && !fields.some(({ name }) => name === word.name);
    if (isNested) listIn(nested, head).push({ ...word, name: word.name.slice(at + 1) });
    else listIn(byName, word.name).push(word);
  }
  const values: Record<string, unknown> = Object.assign(Object.create(null), base);
  for (const [name, fieldWords] of byName) {
    const field = fields.find((each) => each.name === name) ?? additionalField(schema, root, name);
    if (field === undefined) problems.push(unknownArgumentText(fieldWords[0]?.path ?? name, fields));
    else assign(values, name, readField(field, root, fieldWords, problems));
  }
  for (const [name, fieldWords] of nested) {
    const field = fields.find((each) => each.name === name) as InputField;
    const before = values[name];
    const inner = typeof before === 'object' && before !== null ? (before as Arguments) : {};
    const part = objectPart(field, root);
    const read = readMembers(part, root, fieldWords, inner, problems);
    assign(values, name, read);
  }
  return { ...values };
}

function assign(values: Record<string, unknown>, name: string, value: unknown): void {
  if (value !== undefined)
    Object.defineProperty(values, name, { value, enumerable: true, writable: true, configurable: true });
}

/**
 * Returns a field for a name that the schema does not contain; undefined if the schema forbids such names.
 */
function additionalField(schema: JsonSchema, root: JsonSchema, name: string): InputField | undefined {
  if (!allowsAdditional(schema)) return undefined;
  const others = schema.additionalProperties;
  const properties = { [name]: typeof others === 'object' && others !== null ? others : {} };
  return fieldsOf({ properties }, root)[0];
}

function unknownArgumentText(path: string, fields: readonly InputField[]): string {
  const names = fields.map(({ name }) => name);
  if (names.length === 0) return `unknown argument ${path}: the tool has no arguments`;
  const list = fields.find(({ name, types }) => types.includes('array') && path.startsWith(`${name}.`));
  if (list !== undefined)
    return `unknown argument ${path}; ${list.name} is a list: write each item as JSON, ${list.name}='{…}'`;
  return `unknown argument ${path}; ${hintFor(path, names)}`;
}

/** Returns the field's value. Adds an error to `problems` and returns undefined. */
function readField(
  field: InputField,
  root: JsonSchema,
  words: readonly ArgumentWord[],
  problems: string[],
): unknown {
  const isList = field.types.includes('array');
  const [first, ...more] = words;
  if (first === undefined) return undefined;
  if (more.length > 0 && !isList) {
    problems.push(`${first.path} occurs ${words.length} times, but takes one value`);
    return undefined;
  }
  if (more.length === 0) {
    const whole = parseValue(field, root, first);
    if (whole !== undefined) return checkChoice(field, first, whole.value, problems);
  }
  if (!isList) {
    problems.push(`${first.path}: ${expectation(field, root)}`);
    return undefined;
  }
  const item = itemField(field, root);
  const items = words.map((word) => {
    const read = parseValue(item, root, word);
    if (read === undefined) problems.push(`${word.path}: ${expectation(item, root)} in each of its items`);
    else checkChoice(item, word, read.value, problems);
    return read?.value;
  });
  return items;
}

function checkChoice(field: InputField, { path }: ArgumentWord, value: unknown, problems: string[]): unknown {
  const { choices } = field;
  if (choices === undefined || choices.some((each) => isSame(each, value))) return value;
  problems.push(
    `${path} cannot be ${formatValue(value)}; ${hintFor(formatValue(value), choices.map(formatValue))}`,
  );
  return undefined;
}

/** Returns the word's value in any of the field's types; undefined if no type matches. */
function parseValue(
  field: InputField,
  root: JsonSchema,
  { text, isJson }: ArgumentWord,
): { value: unknown } | undefined {
  const { types, choices } = field;
  if (isJson) return parseJson(text);
  const choice = choices?.find((each) => formatValue(each) === text);
  if (choice !== undefined) return { value: choice };
  const isText = types.length === 0 || types.includes('string');
  if (types.includes('array')) {
    const list = parseJson(text)?.value;
    if (Array.isArray(list) && list.every((each) => hasType(each, itemField(field, root).types)))
      return { value: list };
  }
  if (types.includes('object') && text.trimStart().startsWith('{')) {
    const object = parseJson(text);
    if (object !== undefined) return object;
  }
  if (isText) return { value: text };
  return parseScalar(text, types);
}

function parseScalar(text: string, types: readonly FieldType[]): { value: unknown } | undefined {
  if (types.includes('null') && text === 'null') return { value: null };
  if (types.includes('boolean')) {
    if (/^(?:true|yes)$/i.test(text)) return { value: true };
    if (/^(?:false|no)$/i.test(text)) return { value: false };
  }
  const isNumber = types.includes('number');
  if ((isNumber || types.includes('integer')) && /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(text)) {
    const value = Number(text);
    if (isNumber ? Number.isFinite(value) : Number.isSafeInteger(value)) return { value };
  }
  return undefined;
}

/** Returns true if the value has any of the types. */
function hasType(value: unknown, types: readonly FieldType[]): boolean {
  if (types.length === 0) return true;
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : (typeof value as FieldType);
  return types.includes(type) || (type === 'number' && types.includes('integer') && Number.isInteger(value));
}

function expectation(field: InputField, root: JsonSchema): string {
  const { types } = field;
  if (types.includes('boolean') && types.length === 1) return 'expected true or false';
  const what = typeText(field, root);
  const isJson = types.some((type) => type === 'object' || type === 'array');
  return `expected ${/^[aeio]/.test(what) ? 'an' : 'a'} ${what}${isJson ? ', as JSON' : ''}`;
}

/** Returns the missing required fields, also inside nested objects that have other values. */
function findMissing(
  schema: JsonSchema,
  root: JsonSchema,
  values: Arguments,
  before: string,
): { path: string; text: string }[] {
  return fieldsOf(schema, root).flatMap((field) => {
    const path = `${before}${field.name}`;
    const value = Object.hasOwn(values, field.name) ? values[field.name] : undefined;
    if (value === undefined) return field.isRequired ? [{ path, text: missingText(field, root, path) }] : [];
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (!isObject || !field.types.includes('object')) return [];
    return findMissing(objectPart(field, root), root, value as Arguments, `${path}.`);
  });
}

function missingText(field: InputField, root: JsonSchema, path: string): string {
  const { choices, description } = field;
  const what =
    choices === undefined ? typeText(field, root) : `one of ${choices.map(formatValue).join(', ')}`;
  return `${path} is missing (${what})${description === '' ? '' : `: ${description}`}`;
}

/** Formats a value like a user types it: text without quotes, other values as JSON. */
export function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function parseJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function quote(word: string): string {
  return JSON.stringify(word.length > 40 ? `${word.slice(0, 40)}…` : word);
}

function listIn(lists: Map<string, ArgumentWord[]>, name: string): ArgumentWord[] {
  const list = lists.get(name) ?? [];
  lists.set(name, list);
  return list;
}
