// What `explain` prints of a field: its type and limits in words, what it is for, its default, and the fields below it.

import {
  dottedPath,
  type Field,
  membersOf,
  type PublishedSchema,
  resolved,
} from '../../../config/json-schema/schema-fields.ts';
import type { Paint } from '../../terminal/paint.ts';
import { type Column, table } from './table.ts';

/** The field itself, and a line for each below it. */
export function fieldPage(field: Field, paint: Paint, width: number | undefined): string[] {
  const members = [...membersOf(field).values()];
  const groups = groupsOf(field);
  const lines = groups.flatMap(({ schema, types }) => tellingLines(field, schema, types, groups.length > 1));
  const head = [paint('strong', dottedPath(field)), ...lines];
  return members.length === 0 ? head : [...head, '', ...memberTable(members, width)];
}

/** The first sentence of what a field is for; `''` where its schema says nothing. */
export function meaningOf(field: Field): string {
  return field.tellings.map(({ schema }) => resolved(schema, field.kind).description).find(Boolean) ?? '';
}

interface Group {
  readonly schema: PublishedSchema;
  readonly types: readonly string[];
}

/** Types that tell the same of a field stand together. */
function groupsOf({ tellings, kind }: Field): Group[] {
  const groups = new Map<string, { schema: PublishedSchema; types: string[] }>();
  for (const { schema, when } of tellings) {
    const own = resolved(schema, kind);
    const told = JSON.stringify([typeWords(own), own.description, own.default]);
    const group = groups.get(told) ?? { schema: own, types: [] };
    if (when !== undefined) group.types.push(when);
    groups.set(told, group);
  }
  const all = [...groups.values()];
  // Only the general telling says what it is for; those of the types say the same without words.
  return all.filter(({ schema }) => schema.description !== undefined || all.length === 1);
}

function tellingLines(
  { isRequired }: Field,
  schema: PublishedSchema,
  types: readonly string[],
  isOneOfSeveral: boolean,
): string[] {
  const must = isRequired && schema.default === undefined ? ', required' : '';
  const usually = isTold(schema.default) ? `; default ${JSON.stringify(schema.default)}` : '';
  const facts = `${typeWords(schema)}${must}${usually}`;
  const { description } = schema;
  if (isOneOfSeveral && types.length > 0) {
    const words = description === undefined ? [facts] : [description, `(${facts})`];
    return [`  for ${types.join(', ')}: ${words.join(' ')}`];
  }
  return [
    ...(description === undefined ? [] : [`  ${description}`]),
    `  ${facts}`,
    ...(schema.writeOnly === true ? [`  A secret: write it as \${NAME}, a variable.`] : []),
  ];
}

function memberTable(members: readonly Field[], width: number | undefined): string[] {
  // Where all are for one type, that was asked for.
  const hasTypes = new Set(members.map(typesFor)).size > 1;
  const columns: Column<Field>[] = [
    { title: 'FIELD', text: ({ path }) => path.at(-1) ?? '' },
    { title: 'TYPE', text: (member) => shortType(member) },
    { title: 'DEFAULT', text: (member) => shortDefault(member) },
    ...(hasTypes ? [{ title: 'FOR', text: typesFor }] : []),
    { title: 'MEANING', text: meaningOf },
  ];
  return table(columns, members, width);
}

/** For which types there is such a field; '' for all. */
function typesFor({ tellings }: Field): string {
  if (tellings.some(({ when }) => when === undefined)) return '';
  const types = [...new Set(tellings.map(({ when }) => when))];
  return types.length > MOST_TYPES ? `${types.length} types` : types.join(', ');
}

const MOST_TYPES = 2;
const MOST_WORDS = 30;

function shortType({ tellings, kind }: Field): string {
  const words = tellings.map(({ schema }) => typeWords(resolved(schema, kind)));
  const told = [...new Set(words.filter((each) => each !== ANYTHING))];
  if (told.length > 1) return 'by type';
  const [full = ANYTHING] = told;
  const plain = /^(?:a(?: whole)? number|text)/.exec(full)?.[0];
  if (plain !== undefined && !full.includes(' or ')) return plain;
  if (full.length <= MOST_WORDS) return full;
  if (full.startsWith('one of ')) return 'one of several';
  return /^(?:a list|a mapping|text)/.exec(full)?.[0] ?? shorten(full);
}

function shortDefault({ isRequired, tellings }: Field): string {
  const values = [
    ...new Set(
      tellings
        .map(({ schema }) => schema.default)
        .filter(isTold)
        .map((each) => JSON.stringify(each)),
    ),
  ];
  if (values.length > 1) return 'by type';
  return values[0] === undefined ? (isRequired ? 'required' : '') : shorten(values[0]);
}

const shorten = (text: string) => (text.length <= MOST_WORDS ? text : `${text.slice(0, MOST_WORDS - 1)}…`);

/** What is empty is told by the description, where it means anything. */
function isTold(value: unknown): boolean {
  if (value === undefined || value === '') return false;
  return typeof value !== 'object' || value === null || Object.keys(value).length > 0;
}

const ANYTHING = 'anything';
/** Editors take it wherever a value is; people know. */
const REFERENCE = '\\$\\{';

/** What may stand there, in words: `a whole number from 1 to 100`. */
export function typeWords(schema: PublishedSchema): string {
  const options = (schema.anyOf ?? []).filter(({ pattern }) => pattern !== REFERENCE);
  if (options.length > 0) return [...new Set(options.map(typeWords))].join(' or ');
  if (schema.enum !== undefined) return `one of ${schema.enum.join(', ')}`;
  if (schema.const !== undefined) return `the word ${String(schema.const)}`;
  switch (schema.type) {
    case 'object':
      return isByName(schema) ? 'a mapping from names' : 'a mapping';
    case 'array': {
      const of = schema.items === undefined ? '' : ` of ${plural(typeWords(schema.items))}`;
      return of === ` of ${ANYTHING}` ? 'a list' : `a list${of}`;
    }
    case 'boolean':
      return 'true or false';
    case 'integer':
      return `a whole number${range(schema)}`;
    case 'number':
      return `a number${range(schema)}`;
    case 'string': {
      const { patternErrorMessage: said } = schema;
      return said === undefined ? 'text' : said.startsWith('text') ? said : `text: ${said}`;
    }
    default:
      return ANYTHING;
  }
}

const isByName = ({ properties, patternProperties, additionalProperties }: PublishedSchema) =>
  properties === undefined && (patternProperties !== undefined || typeof additionalProperties === 'object');

const plural = (words: string) => words.replace(/^a mapping\b/, 'mappings').replace(/^a list\b/, 'lists');

function range({ minimum, exclusiveMinimum, maximum }: PublishedSchema): string {
  const least = exclusiveMinimum === undefined ? minimum : `more than ${exclusiveMinimum}`;
  if (least === undefined) return maximum === undefined ? '' : ` up to ${maximum}`;
  const from = exclusiveMinimum === undefined ? ` from ${least}` : ` ${least}`;
  if (maximum === undefined) return exclusiveMinimum === undefined ? ` of ${least} or more` : from;
  return exclusiveMinimum === undefined ? `${from} to ${maximum}` : `${from}, up to ${maximum}`;
}
