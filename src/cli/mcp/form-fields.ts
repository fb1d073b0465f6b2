// Prompts and parsers for the fields in a server's form (elicitation.ts). Parsed values match the schema of
// the form: type, choices, length, range and format.

import { isSame, type JsonSchema } from '../../../config/value-schema/schema-parts.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { formatValue } from './call-arguments.ts';
import { fieldsOf, type InputField, itemField, recordOf } from './schema-fields.ts';

export type FormValue = string | number | boolean | string[];

export type LineResult =
  | { readonly kind: 'value'; readonly value: FormValue }
  /** The user omits the field. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'complaint'; readonly text: string };

interface FormChoice {
  readonly value: string | number;
  readonly title: string;
}

export interface FormField {
  readonly name: string;
  /** Lines printed above the prompt. */
  readonly intro: readonly string[];
  readonly prompt: string;
  parse(line: string): LineResult;
}

/** Returns the form's fields, in order. */
export function formFields(form: JsonSchema): FormField[] {
  return fieldsOf(form).map((field) => formField(field, form));
}

function formField(field: InputField, form: JsonSchema): FormField {
  const { name, schema, description, isRequired } = field;
  const isList = field.types.includes('array');
  const item = isList ? itemField(field, form) : field;
  const choices = choicesOf(item);
  const title = typeof schema.title === 'string' ? schema.title : name;
  const head = `${title}${isRequired ? ' (required)' : ''}${description === '' ? '' : `: ${description}`}`;
  const options = choices.map((choice, at) => {
    const value = String(choice.value);
    return `  ${at + 1}  ${choice.title}${choice.title === value ? '' : ` (${value})`}`;
  });
  const preset = field.hasDefault ? ` [${presetText(field.default)}]` : '';
  return {
    name,
    // `printable` reduces the options' indentation to a single space.
    intro: [head, ...options].map((line) => printable(line).replace(/^ (?=\d)/, '  ')),
    prompt: `${printable(`${name}${kindText(field, isList, choices)}${preset}`)}: `,
    parse: (line) => {
      const text = line.trim();
      if (text === '') {
        if (field.hasDefault) return { kind: 'value', value: field.default as FormValue };
        return isRequired ? complaint('an answer is required') : { kind: 'nothing' };
      }
      if (isList) return parseList(text, schema, choices);
      return choices.length > 0 ? parseChoice(text, choices) : parseText(text, field);
    },
  };
}

const complaint = (text: string): LineResult => ({ kind: 'complaint', text });

function presetText(value: unknown): string {
  return Array.isArray(value) ? value.map(formatValue).join(', ') : formatValue(value);
}

function kindText({ types, schema }: InputField, isList: boolean, choices: readonly FormChoice[]): string {
  if (isList) return choices.length > 0 ? ' (one or more, separated by commas)' : ' (separated by commas)';
  if (choices.length > 0) return '';
  if (types.includes('boolean')) return ' (y/n)';
  if (types.includes('integer') || types.includes('number')) return ` (${types[0]}${rangeText(schema)})`;
  return typeof schema.format === 'string' ? ` (${schema.format})` : '';
}

function rangeText({ minimum, maximum }: JsonSchema): string {
  if (minimum === undefined && maximum === undefined) return '';
  return `, ${minimum ?? ''} to ${maximum ?? ''}`;
}

/** Returns the choices of `enum` (with `enumNames`), or of `oneOf` and `anyOf` with titles. */
function choicesOf({ schema, choices = [] }: InputField): FormChoice[] {
  const titled = [schema.oneOf, schema.anyOf].find(Array.isArray) as unknown[] | undefined;
  const names = Array.isArray(schema.enumNames) ? schema.enumNames : [];
  return choices.map((value, at) => {
    const title = titled === undefined ? names[at] : recordOf(titled[at]).title;
    return { value: value as string | number, title: typeof title === 'string' ? title : String(value) };
  });
}

/** Finds a choice by its value, else by its title, else by its number in the printed list. */
function parseChoice(text: string, choices: readonly FormChoice[]): LineResult {
  const same = (one: string) => one.toLowerCase() === text.toLowerCase();
  const choice =
    choices.find(({ value }) => String(value) === text) ??
    choices.find(({ value, title }) => same(String(value)) || same(title)) ??
    (/^\d+$/.test(text) ? choices[Number(text) - 1] : undefined);
  if (choice === undefined) return complaint(`choose one of 1 to ${choices.length}, by number or name`);
  return { kind: 'value', value: choice.value };
}

function parseList(text: string, schema: JsonSchema, choices: readonly FormChoice[]): LineResult {
  const words = text.split(',').map((word) => word.trim());
  const values: string[] = [];
  for (const word of words.filter((each) => each !== '')) {
    const read = choices.length > 0 ? parseChoice(word, choices) : ({ kind: 'value', value: word } as const);
    if (read.kind !== 'value') return read;
    const value = String(read.value);
    if (!values.some((each) => isSame(each, value))) values.push(value);
  }
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema as Record<string, number>;
  if (values.length < minItems) return complaint(`choose at least ${minItems}`);
  if (values.length > maxItems) return complaint(`choose at most ${maxItems}`);
  return { kind: 'value', value: values };
}

function parseText(text: string, { types, schema }: InputField): LineResult {
  if (types.includes('boolean')) {
    if (/^(?:y|yes|true)$/i.test(text)) return { kind: 'value', value: true };
    if (/^(?:n|no|false)$/i.test(text)) return { kind: 'value', value: false };
    return complaint('y or n');
  }
  if (types.includes('integer') || types.includes('number')) return parseNumber(text, types, schema);
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema as Record<string, number>;
  const { length } = [...text];
  if (length < minLength) return complaint(`at least ${minLength} characters`);
  if (length > maxLength) return complaint(`at most ${maxLength} characters`);
  const fault = formatError(text, schema.format);
  return fault === undefined ? { kind: 'value', value: text } : complaint(fault);
}

function parseNumber(text: string, types: InputField['types'], schema: JsonSchema): LineResult {
  const value = Number(text);
  const isWhole = !types.includes('number');
  if (!Number.isFinite(value) || (isWhole && !Number.isSafeInteger(value)))
    return complaint(isWhole ? 'a whole number' : 'a number');
  const { minimum, maximum } = schema as Record<string, number | undefined>;
  if (minimum !== undefined && value < minimum) return complaint(`at least ${minimum}`);
  if (maximum !== undefined && value > maximum) return complaint(`at most ${maximum}`);
  return { kind: 'value', value };
}

function formatError(text: string, format: unknown): string | undefined {
  if (format === 'email' && !/^[^\s@]+@[^\s@]+$/.test(text)) return 'an address such as name@example.com';
  if (format === 'uri' && !URL.canParse(text)) return 'an address such as https://example.com/';
  if (format === 'date' && !(/^\d{4}-\d\d-\d\d$/.test(text) && isDay(text)))
    return 'a date such as 2026-01-31';
  if (
    format === 'date-time' &&
    !(/^\d{4}-\d\d-\d\dT\d\d:\d\d.*(?:Z|[+-]\d\d:\d\d)$/i.test(text) && isDay(text))
  )
    return 'a time such as 2026-01-31T12:00:00Z';
  return undefined;
}

function isDay(text: string): boolean {
  const at = Date.parse(`${text.slice(0, 10)}T00:00:00Z`);
  return (
    !Number.isNaN(at) &&
    new Date(at).toISOString().startsWith(text.slice(0, 10)) &&
    !Number.isNaN(Date.parse(text))
  );
}
