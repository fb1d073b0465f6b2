// What a form comes to: the arguments that are sent, or what is wrong, field by field. An argument for which nothing is given is left out.

import { checkValue } from '../../../../config/value-schema/check-value.ts';
import { type Drafts, type Field, keyOf, type LeafField, type LinesField, type Path } from './fields.ts';

export interface ReadForm {
  /** Undefined where something is wrong. */
  readonly args: Readonly<Record<string, unknown>> | undefined;
  /** By the key of a field; '' for what is no field's. */
  readonly problems: ReadonlyMap<string, string>;
  /** What the schema says and is not checked here, by keyword. */
  readonly unchecked: readonly string[];
}

/** A field that has no draft has its default. */
export function readForm(schema: unknown, fields: readonly Field[], drafts: Drafts): ReadForm {
  const problems = new Map<string, string>();
  const { value } = readMembers(fields, drafts, problems);
  if (problems.size > 0) return { args: undefined, problems, unchecked: [] };
  return checked(schema, value, (path) => fieldAt(fields, path));
}

/** The same for arguments that are written as JSON. */
export function readJson(schema: unknown, text: string): ReadForm {
  const wrong = (problem: string): ReadForm => ({
    args: undefined,
    problems: new Map([['', problem]]),
    unchecked: [],
  });
  let value: unknown;
  try {
    value = JSON.parse(text.trim() === '' ? '{}' : text);
  } catch (error) {
    return wrong(`is not JSON: ${(error as Error).message}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return wrong('must be an object, with a member for each argument: {"name": "value"}');
  return checked(schema, value as Readonly<Record<string, unknown>>, () => '');
}

/** What the fields come to, for whoever goes on in JSON; members that are wrong are left out. */
export function jsonOf(fields: readonly Field[], drafts: Drafts): string {
  return JSON.stringify(readMembers(fields, drafts, new Map()).value, null, 2);
}

function checked(
  schema: unknown,
  args: Readonly<Record<string, unknown>>,
  keyAt: (path: Path) => string,
): ReadForm {
  const { findings, unchecked } = checkValue(schema, args);
  const problems = new Map<string, string>();
  for (const { path, text } of findings) {
    const key = keyAt(path);
    const inner = key === '' ? path : path.slice((JSON.parse(key) as Path).length);
    const told = inner.length === 0 ? text : `${inner.join('/')}: ${text}`;
    problems.set(key, problems.has(key) ? `${problems.get(key)}; ${told}` : told);
  }
  return { args: findings.length > 0 ? undefined : args, problems, unchecked };
}

/** The key of the field that a place in the value belongs to. */
function fieldAt(fields: readonly Field[], path: Path): string {
  const [name, ...rest] = path;
  const field = fields.find((each) => each.name === name);
  if (field === undefined) return '';
  if (field.kind !== 'group' || rest.length === 0) return keyOf(field.path);
  return fieldAt(field.fields, rest) || keyOf(field.path);
}

type Given = { readonly value: unknown } | undefined;
const REQUIRED = 'is required';

function readMembers(
  fields: readonly Field[],
  drafts: Drafts,
  problems: Map<string, string>,
): { readonly value: Readonly<Record<string, unknown>>; readonly isGiven: boolean } {
  const members: [name: string, value: unknown][] = [];
  let isGiven = false;
  for (const field of fields) {
    const given =
      field.kind === 'group' ? readGroup(field, drafts, problems) : readLeaf(field, drafts, problems);
    isGiven ||= given !== undefined || hasDraft(field, drafts);
    if (given !== undefined) members.push([field.name, given.value]);
  }
  // A member may be called __proto__.
  return { value: Object.fromEntries(members), isGiven };
}

function readGroup(
  field: Extract<Field, { kind: 'group' }>,
  drafts: Drafts,
  problems: Map<string, string>,
): Given {
  const inner = new Map<string, string>();
  const { value, isGiven } = readMembers(field.fields, drafts, inner);
  if (!isGiven && !field.isRequired) return undefined;
  if (!isGiven && field.isNullable) return { value: null };
  for (const [key, problem] of inner) problems.set(key, problem);
  return { value };
}

function hasDraft(field: Field, drafts: Drafts): boolean {
  if (field.kind === 'group') return false;
  const draft = drafts.get(keyOf(field.path)) ?? field.given;
  return draft !== undefined && draft !== '';
}

/** Undefined where it is left out, or wrong. */
function readLeaf(field: LeafField, drafts: Drafts, problems: Map<string, string>): Given {
  const draft = drafts.get(keyOf(field.path)) ?? field.given;
  const isEmpty =
    draft === undefined || draft === '' || (field.kind !== 'text' && String(draft).trim() === '');
  const fail = (problem: string): undefined => {
    problems.set(keyOf(field.path), problem);
  };
  if (isEmpty) {
    if (!field.isRequired) return undefined;
    if (field.kind === 'flag') return { value: false };
    if (field.kind === 'lines') return { value: [] };
    if (field.isNullable) return { value: null };
    return fail(field.kind === 'text' ? `${REQUIRED}; an empty text can be given as JSON` : REQUIRED);
  }
  const text = String(draft);
  switch (field.kind) {
    case 'text':
      return { value: text };
    case 'flag':
      return { value: draft === true };
    case 'choice': {
      const chosen = field.choices[Number(text)];
      return chosen === undefined ? fail(REQUIRED) : { value: chosen.value };
    }
    case 'number': {
      const number = numberIn(text, field.isWhole);
      return typeof number === 'string' ? fail(number) : { value: number };
    }
    case 'lines':
      return readLines(field, text, fail);
    case 'json':
      try {
        return { value: JSON.parse(text) as unknown };
      } catch (error) {
        return fail(`is not JSON: ${(error as Error).message}`);
      }
  }
}

function readLines(field: LinesField, text: string, fail: (problem: string) => undefined): Given {
  const lines = text.replace(/\r?\n$/, '').split(/\r?\n/);
  const values: unknown[] = [];
  for (const [index, line] of lines.entries()) {
    const read = simpleValue(line, field.of);
    if ('problem' in read) return fail(`line ${index + 1} ${read.problem}`);
    values.push(read.value);
  }
  return { value: values };
}

type SimpleValue = { readonly value: unknown } | { readonly problem: string };

function simpleValue(line: string, type: LinesField['of']): SimpleValue {
  if (type === 'string') return { value: line };
  const word = line.trim();
  if (type === 'boolean')
    return word === 'true' || word === 'false'
      ? { value: word === 'true' }
      : { problem: 'must be true or false' };
  const number = numberIn(word, type === 'integer');
  return typeof number === 'string' ? { problem: number } : { value: number };
}

/** The number, or what is wrong with it. */
function numberIn(text: string, isWhole: boolean): number | string {
  const word = text.trim();
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(word)) return 'must be a number';
  const number = Number(word);
  if (!Number.isFinite(number)) return 'is too large';
  if (isWhole && !Number.isInteger(number)) return 'must be a whole number';
  if (Number.isInteger(number) && !Number.isSafeInteger(number) && /^[+-]?\d+$/.test(word))
    return 'has too many digits to be sent as it is';
  return number;
}
