// Parses and checks the form of a tool call: returns the arguments, or the problems by field. Optional fields
// that are empty are omitted.

import { checkValue } from '../../../../config/value-schema/check-value.ts';
import {
  type ArgumentField,
  type FieldDrafts,
  keyOf,
  type LeafField,
  type LinesField,
  type Path,
} from './fields.ts';

export interface FormResult {
  /** Undefined if there are problems. */
  readonly args: Readonly<Record<string, unknown>> | undefined;
  /** Problems by field key; '' for the whole form. */
  readonly problems: ReadonlyMap<string, string>;
  /** Schema keywords that the page does not check. */
  readonly unchecked: readonly string[];
}

/** Parses the fields. A field that has no draft keeps the default. */
export function parseForm(
  schema: unknown,
  fields: readonly ArgumentField[],
  drafts: FieldDrafts,
): FormResult {
  const problems = new Map<string, string>();
  const { value } = parseMembers(fields, drafts, problems);
  if (problems.size > 0) return { args: undefined, problems, unchecked: [] };
  return checkArguments(schema, value, (path) => fieldAt(fields, path));
}

/** Parses arguments that are entered as JSON. */
export function parseJson(schema: unknown, text: string): FormResult {
  const failed = (problem: string): FormResult => ({
    args: undefined,
    problems: new Map([['', problem]]),
    unchecked: [],
  });
  let value: unknown;
  try {
    value = JSON.parse(text.trim() === '' ? '{}' : text);
  } catch (error) {
    return failed(`is not JSON: ${(error as Error).message}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return failed('must be an object, with a member for each argument: {"name": "value"}');
  return checkArguments(schema, value as Readonly<Record<string, unknown>>, () => '');
}

/** Returns the fields as JSON, without invalid members. */
export function jsonOf(fields: readonly ArgumentField[], drafts: FieldDrafts): string {
  return JSON.stringify(parseMembers(fields, drafts, new Map()).value, null, 2);
}

function checkArguments(
  schema: unknown,
  args: Readonly<Record<string, unknown>>,
  keyAt: (path: Path) => string,
): FormResult {
  const { findings, unchecked } = checkValue(schema, args);
  const problems = new Map<string, string>();
  for (const { path, text } of findings) {
    const key = keyAt(path);
    const inner = key === '' ? path : path.slice((JSON.parse(key) as Path).length);
    const message = inner.length === 0 ? text : `${inner.join('/')}: ${text}`;
    problems.set(key, problems.has(key) ? `${problems.get(key)}; ${message}` : message);
  }
  return { args: findings.length > 0 ? undefined : args, problems, unchecked };
}

/** Returns the key of the field that contains a path of the value. */
function fieldAt(fields: readonly ArgumentField[], path: Path): string {
  const [name, ...rest] = path;
  const field = fields.find((each) => each.name === name);
  if (field === undefined) return '';
  if (field.kind !== 'group' || rest.length === 0) return keyOf(field.path);
  return fieldAt(field.fields, rest) || keyOf(field.path);
}

type ParsedValue = { readonly value: unknown } | undefined;
const REQUIRED = 'is required';

function parseMembers(
  fields: readonly ArgumentField[],
  drafts: FieldDrafts,
  problems: Map<string, string>,
): { readonly value: Readonly<Record<string, unknown>>; readonly hasValue: boolean } {
  const members: [name: string, value: unknown][] = [];
  let hasValue = false;
  for (const field of fields) {
    const parsed =
      field.kind === 'group' ? parseGroup(field, drafts, problems) : parseLeaf(field, drafts, problems);
    hasValue ||= parsed !== undefined || hasDraft(field, drafts);
    if (parsed !== undefined) members.push([field.name, parsed.value]);
  }
  // Object.fromEntries also accepts a member named __proto__.
  return { value: Object.fromEntries(members), hasValue };
}

function parseGroup(
  field: Extract<ArgumentField, { kind: 'group' }>,
  drafts: FieldDrafts,
  problems: Map<string, string>,
): ParsedValue {
  const inner = new Map<string, string>();
  const { value, hasValue } = parseMembers(field.fields, drafts, inner);
  if (!hasValue && !field.isRequired) return undefined;
  if (!hasValue && field.isNullable) return { value: null };
  for (const [key, problem] of inner) problems.set(key, problem);
  return { value };
}

/** Returns true if the field is not empty. Its text may be invalid. */
function hasDraft(field: ArgumentField, drafts: FieldDrafts): boolean {
  if (field.kind === 'group') return false;
  const draft = drafts.get(keyOf(field.path)) ?? field.initial;
  return draft !== undefined && draft !== '';
}

/** Returns undefined if the field is omitted or invalid. */
function parseLeaf(field: LeafField, drafts: FieldDrafts, problems: Map<string, string>): ParsedValue {
  const draft = drafts.get(keyOf(field.path)) ?? field.initial;
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
    return fail(field.kind === 'text' ? `${REQUIRED}; enter an empty text as JSON` : REQUIRED);
  }
  const text = String(draft);
  switch (field.kind) {
    case 'text':
      return { value: text };
    case 'flag':
      return { value: draft === true };
    case 'choice': {
      const choice = field.choices[Number(text)];
      return choice === undefined ? fail(REQUIRED) : { value: choice.value };
    }
    case 'number': {
      const number = numberIn(text, field.isWhole);
      return typeof number === 'string' ? fail(number) : { value: number };
    }
    case 'lines':
      return parseLines(field, text, fail);
    case 'json':
      try {
        return { value: JSON.parse(text) as unknown };
      } catch (error) {
        return fail(`is not JSON: ${(error as Error).message}`);
      }
  }
}

function parseLines(field: LinesField, text: string, fail: (problem: string) => undefined): ParsedValue {
  const lines = text.replace(/\r?\n$/, '').split(/\r?\n/);
  const values: unknown[] = [];
  for (const [index, line] of lines.entries()) {
    const parsed = simpleValue(line, field.of);
    if ('problem' in parsed) return fail(`line ${index + 1} ${parsed.problem}`);
    values.push(parsed.value);
  }
  return { value: values };
}

type SimpleValue = { readonly value: unknown } | { readonly problem: string };

function simpleValue(line: string, type: LinesField['of']): SimpleValue {
  if (type === 'string') return { value: line };
  const trimmed = line.trim();
  if (type === 'boolean')
    return trimmed === 'true' || trimmed === 'false'
      ? { value: trimmed === 'true' }
      : { problem: 'must be true or false' };
  const number = numberIn(trimmed, type === 'integer');
  return typeof number === 'string' ? { problem: number } : { value: number };
}

/** Returns the number, or the problem. */
function numberIn(text: string, isWhole: boolean): number | string {
  const trimmed = text.trim();
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed)) return 'must be a number';
  const number = Number(trimmed);
  if (!Number.isFinite(number)) return 'is too large';
  if (isWhole && !Number.isInteger(number)) return 'must be an integer';
  if (Number.isInteger(number) && !Number.isSafeInteger(number) && /^[+-]?\d+$/.test(trimmed))
    return 'has too many digits';
  return number;
}
