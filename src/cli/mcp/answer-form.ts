// A form that a server asks a person to fill in, as questions of a terminal: what is asked for each field, and what of a typed line becomes
// its value.
//
// ANF1  what an answer is made of fits the schema of the form, as far as that can say it: type, choices, length, range, format.

import { isSame, type JsonSchema } from '../../../config/value-schema/schema-parts.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { shown } from './call-values.ts';
import { type Field, fieldsOf, itemField, recordOf } from './schema-fields.ts';

export type FormValue = string | number | boolean | string[];

export type ReadLine =
  | { readonly kind: 'value'; readonly value: FormValue }
  /** It is left out. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'complaint'; readonly text: string };

interface Choice {
  readonly value: string | number;
  readonly title: string;
}

export interface FormField {
  readonly name: string;
  /** Lines above the prompt. */
  readonly intro: readonly string[];
  readonly prompt: string;
  read(line: string): ReadLine;
}

/** The questions of a form, in its order. */
export function formFields(form: JsonSchema): FormField[] {
  return fieldsOf(form).map((field) => formField(field, form));
}

function formField(field: Field, form: JsonSchema): FormField {
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
    intro: [head, ...options].map((line) => printable(line).replace(/^ (?=\d)/, '  ')),
    prompt: `${printable(`${name}${kindText(field, isList, choices)}${preset}`)}: `,
    read: (line) => {
      const text = line.trim();
      if (text === '') {
        if (field.hasDefault) return { kind: 'value', value: field.default as FormValue };
        return isRequired ? complaint('an answer is required') : { kind: 'nothing' };
      }
      if (isList) return readList(text, schema, choices);
      return choices.length > 0 ? readChoice(text, choices) : readValue(text, field);
    },
  };
}

const complaint = (text: string): ReadLine => ({ kind: 'complaint', text });

function presetText(value: unknown): string {
  return Array.isArray(value) ? value.map(shown).join(', ') : shown(value);
}

function kindText({ types, schema }: Field, isList: boolean, choices: readonly Choice[]): string {
  if (isList) return choices.length > 0 ? ' (one or more, with commas)' : ' (with commas)';
  if (choices.length > 0) return '';
  if (types.includes('boolean')) return ' (y/n)';
  if (types.includes('integer') || types.includes('number')) return ` (${types[0]}${rangeText(schema)})`;
  return typeof schema.format === 'string' ? ` (${schema.format})` : '';
}

function rangeText({ minimum, maximum }: JsonSchema): string {
  if (minimum === undefined && maximum === undefined) return '';
  return `, ${minimum ?? ''} to ${maximum ?? ''}`;
}

/** Of `enum` with or without `enumNames`, and of `oneOf` or `anyOf` with titles. */
function choicesOf({ schema, choices = [] }: Field): Choice[] {
  const titled = [schema.oneOf, schema.anyOf].find(Array.isArray) as unknown[] | undefined;
  const names = Array.isArray(schema.enumNames) ? schema.enumNames : [];
  return choices.map((value, at) => {
    const title = titled === undefined ? names[at] : recordOf(titled[at]).title;
    return { value: value as string | number, title: typeof title === 'string' ? title : String(value) };
  });
}

/** By its value, its title or its number in the list; a value goes before a number. */
function readChoice(text: string, choices: readonly Choice[]): ReadLine {
  const same = (one: string) => one.toLowerCase() === text.toLowerCase();
  const found =
    choices.find(({ value }) => String(value) === text) ??
    choices.find(({ value, title }) => same(String(value)) || same(title)) ??
    (/^\d+$/.test(text) ? choices[Number(text) - 1] : undefined);
  if (found === undefined) return complaint(`choose one of 1 to ${choices.length}, by number or name`);
  return { kind: 'value', value: found.value };
}

function readList(text: string, schema: JsonSchema, choices: readonly Choice[]): ReadLine {
  const words = text.split(',').map((word) => word.trim());
  const values: string[] = [];
  for (const word of words.filter((each) => each !== '')) {
    const read = choices.length > 0 ? readChoice(word, choices) : ({ kind: 'value', value: word } as const);
    if (read.kind !== 'value') return read;
    const value = String(read.value);
    if (!values.some((each) => isSame(each, value))) values.push(value);
  }
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema as Record<string, number>;
  if (values.length < minItems) return complaint(`choose at least ${minItems}`);
  if (values.length > maxItems) return complaint(`choose at most ${maxItems}`);
  return { kind: 'value', value: values };
}

function readValue(text: string, { types, schema }: Field): ReadLine {
  if (types.includes('boolean')) {
    if (/^(?:y|yes|true)$/i.test(text)) return { kind: 'value', value: true };
    if (/^(?:n|no|false)$/i.test(text)) return { kind: 'value', value: false };
    return complaint('y or n');
  }
  if (types.includes('integer') || types.includes('number')) return readNumber(text, types, schema);
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema as Record<string, number>;
  const { length } = [...text];
  if (length < minLength) return complaint(`at least ${minLength} characters`);
  if (length > maxLength) return complaint(`at most ${maxLength} characters`);
  const wanted = formatFault(text, schema.format);
  return wanted === undefined ? { kind: 'value', value: text } : complaint(wanted);
}

function readNumber(text: string, types: Field['types'], schema: JsonSchema): ReadLine {
  const value = Number(text);
  const isWhole = !types.includes('number');
  if (!Number.isFinite(value) || (isWhole && !Number.isSafeInteger(value)))
    return complaint(isWhole ? 'a whole number' : 'a number');
  const { minimum, maximum } = schema as Record<string, number | undefined>;
  if (minimum !== undefined && value < minimum) return complaint(`at least ${minimum}`);
  if (maximum !== undefined && value > maximum) return complaint(`at most ${maximum}`);
  return { kind: 'value', value };
}

function formatFault(text: string, format: unknown): string | undefined {
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
