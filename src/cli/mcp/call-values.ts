// The arguments of a call as words of a command line: `name=value`, read by the schema of the tool. Text stays text where text may stand;
// `name:=JSON` says a value that no text could. What cannot be meant is told before anything is sent.
//
// CLV1  whatever a value, there are words that are read as that value again (value-words.ts writes them).
// CLV2  all that is wrong is told at once, with what there is instead.

import { isSame, type JsonSchema } from '../../../config/value-schema/schema-parts.ts';
import { hintFor } from '../api/unknown-name.ts';
import {
  type Field,
  type FieldType,
  fieldsOf,
  itemField,
  objectPart,
  resolved,
  takesOthers,
  typeText,
} from './schema-fields.ts';

export type Arguments = Readonly<Record<string, unknown>>;

export interface ReadArguments {
  readonly values: Arguments;
  /** Sentences; empty where all is good. */
  readonly problems: readonly string[];
}

interface Word {
  readonly name: string;
  /** With its dots: as it was written. */
  readonly path: string;
  readonly text: string;
  /** Written with `:=`. */
  readonly isJson: boolean;
}

/** Reads `words` by the schema of a tool's input; `base` is what was given as one JSON object, of which words replace members. */
export function readArguments(
  schema: JsonSchema,
  words: readonly string[],
  base: Arguments = {},
): ReadArguments {
  const problems: string[] = [];
  const own = resolved(schema, schema);
  const known = fieldsOf(own, schema).map(({ name }) => name);
  const read = words.flatMap((word) => {
    const found = wordOf(word, known);
    if (found === undefined) problems.push(`${quoted(word)} is no name=value`);
    return found ?? [];
  });
  const values = readMembers(own, schema, read, base, problems);
  const given = new Set(read.map(({ path }) => path));
  problems.push(
    ...missing(own, schema, values, '').flatMap(({ path, text }) => (given.has(path) ? [] : [text])),
  );
  return { values, problems };
}

function wordOf(word: string, known: readonly string[]): Word | undefined {
  const at = word.indexOf('=');
  if (at < 1) return undefined;
  const name = word.slice(0, at);
  const isJson = name.length > 1 && name.endsWith(':') && !known.includes(name);
  const path = isJson ? name.slice(0, -1) : name;
  return { name: path, path, text: word.slice(at + 1), isJson };
}

function readMembers(
  schema: JsonSchema,
  root: JsonSchema,
  words: readonly Word[],
  base: Arguments,
  problems: string[],
): Arguments {
  const fields = fieldsOf(schema, root);
  const byName = new Map<string, Word[]>();
  const nested = new Map<string, Word[]>();
  for (const word of words) {
    const at = word.name.indexOf('.');
    const head = word.name.slice(0, Math.max(0, at));
    const outer = fields.find(({ name, types }) => name === head && types.includes('object'));
    const isNested = outer !== undefined && !fields.some(({ name }) => name === word.name);
    if (isNested) listIn(nested, head).push({ ...word, name: word.name.slice(at + 1) });
    else listIn(byName, word.name).push(word);
  }
  const values: Record<string, unknown> = Object.assign(Object.create(null), base);
  for (const [name, given] of byName) {
    const field = fields.find((each) => each.name === name) ?? otherField(schema, root, name);
    if (field === undefined) problems.push(unknownName(given[0]?.path ?? name, fields));
    else assign(values, name, readField(field, root, given, problems));
  }
  for (const [name, given] of nested) {
    const field = fields.find((each) => each.name === name) as Field;
    const before = values[name];
    const inner = typeof before === 'object' && before !== null ? (before as Arguments) : {};
    const part = objectPart(field, root);
    const read = readMembers(part, root, given, inner, problems);
    assign(values, name, read);
  }
  return { ...values };
}

function assign(values: Record<string, unknown>, name: string, value: unknown): void {
  if (value !== undefined)
    Object.defineProperty(values, name, { value, enumerable: true, writable: true, configurable: true });
}

/** One that the schema does not name and allows all the same. */
function otherField(schema: JsonSchema, root: JsonSchema, name: string): Field | undefined {
  if (!takesOthers(schema)) return undefined;
  const others = schema.additionalProperties;
  const properties = { [name]: typeof others === 'object' && others !== null ? others : {} };
  return fieldsOf({ properties }, root)[0];
}

function unknownName(path: string, fields: readonly Field[]): string {
  const names = fields.map(({ name }) => name);
  if (names.length === 0) return `unknown argument ${path}: it takes none`;
  const list = fields.find(({ name, types }) => types.includes('array') && path.startsWith(`${name}.`));
  if (list !== undefined)
    return `unknown argument ${path}; ${list.name} is a list: write each item as JSON, ${list.name}='{…}'`;
  return `unknown argument ${path}; ${hintFor(path, names)}`;
}

/** Undefined where it cannot be read, which has been told then. */
function readField(field: Field, root: JsonSchema, words: readonly Word[], problems: string[]): unknown {
  const isList = field.types.includes('array');
  const [first, ...more] = words;
  if (first === undefined) return undefined;
  if (more.length > 0 && !isList) {
    problems.push(`${first.path} is given ${words.length} times, and takes one value`);
    return undefined;
  }
  if (more.length === 0) {
    const whole = readWhole(field, root, first);
    if (whole !== undefined) return checked(field, first, whole.value, problems);
  }
  if (!isList) {
    problems.push(`${first.path}: ${expectation(field, root)}`);
    return undefined;
  }
  const item = itemField(field, root);
  const items = words.map((word) => {
    const read = readWhole(item, root, word);
    if (read === undefined) problems.push(`${word.path}: ${expectation(item, root)} in each of its items`);
    else checked(item, word, read.value, problems);
    return read?.value;
  });
  return items;
}

function checked(field: Field, { path }: Word, value: unknown, problems: string[]): unknown {
  const { choices } = field;
  if (choices === undefined || choices.some((each) => isSame(each, value))) return value;
  problems.push(`${path} cannot be ${shown(value)}; ${hintFor(shown(value), choices.map(shown))}`);
  return undefined;
}

/** The value that one word is, of whatever type of the field comes first here; undefined where it is none of them. */
function readWhole(field: Field, root: JsonSchema, { text, isJson }: Word): { value: unknown } | undefined {
  const { types, choices } = field;
  if (isJson) return parsedJson(text);
  const choice = choices?.find((each) => shown(each) === text);
  if (choice !== undefined) return { value: choice };
  const isText = types.length === 0 || types.includes('string');
  if (types.includes('array')) {
    const list = parsedJson(text)?.value;
    if (Array.isArray(list) && list.every((each) => fits(each, itemField(field, root).types)))
      return { value: list };
  }
  if (types.includes('object') && text.trimStart().startsWith('{')) {
    const object = parsedJson(text);
    if (object !== undefined) return object;
  }
  if (isText) return { value: text };
  return readPlain(text, types);
}

function readPlain(text: string, types: readonly FieldType[]): { value: unknown } | undefined {
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

/** Whether a value could be of one of these types. */
function fits(value: unknown, types: readonly FieldType[]): boolean {
  if (types.length === 0) return true;
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : (typeof value as FieldType);
  return types.includes(type) || (type === 'number' && types.includes('integer') && Number.isInteger(value));
}

function expectation(field: Field, root: JsonSchema): string {
  const { types } = field;
  if (types.includes('boolean') && types.length === 1) return 'expected true or false';
  const what = typeText(field, root);
  const isJson = types.some((type) => type === 'object' || type === 'array');
  return `expected ${/^[aeio]/.test(what) ? 'an' : 'a'} ${what}${isJson ? ', as JSON' : ''}`;
}

/** What is required and is not there, at any depth that something was given for. */
function missing(
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
    return missing(objectPart(field, root), root, value as Arguments, `${path}.`);
  });
}

function missingText(field: Field, root: JsonSchema, path: string): string {
  const { choices, description } = field;
  const what = choices === undefined ? typeText(field, root) : `one of ${choices.map(shown).join(', ')}`;
  return `${path} is missing (${what})${description === '' ? '' : `: ${description}`}`;
}

/** A value as it is typed: text without quotes. */
export function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function parsedJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function quoted(word: string): string {
  return JSON.stringify(word.length > 40 ? `${word.slice(0, 40)}…` : word);
}

function listIn(lists: Map<string, Word[]>, name: string): Word[] {
  const list = lists.get(name) ?? [];
  lists.set(name, list);
  return list;
}
