// Output of `explain`: meaning, type, limits and default of configuration fields, and their nested fields.

import {
  dottedPath,
  membersOf,
  type PublishedSchema,
  resolveDefinition,
  type SchemaField,
} from '../../../config/json-schema/schema-fields.ts';
import type { Paint } from '../../terminal/paint.ts';
import { type Column, table } from './table.ts';

/** Returns the field's page, with a table of nested fields. */
export function fieldPage(field: SchemaField, paint: Paint, width: number | undefined): string[] {
  const members = [...membersOf(field).values()];
  const groups = groupsOf(field);
  const lines = groups.flatMap(({ schema, types }) =>
    descriptionLines(field, schema, types, groups.length > 1),
  );
  const head = [paint('strong', dottedPath(field)), ...lines];
  return members.length === 0 ? head : [...head, '', ...memberTable(members, width)];
}

/** Returns the field's description; '' if the schema has none. */
export function meaningOf(field: SchemaField): string {
  return (
    field.definitions.map(({ schema }) => resolveDefinition(schema, field.kind).description).find(Boolean) ??
    ''
  );
}

interface TypeGroup {
  readonly schema: PublishedSchema;
  readonly types: readonly string[];
}

/** Groups the types for which the field has the same description, value type and default. */
function groupsOf({ definitions, kind }: SchemaField): TypeGroup[] {
  const groups = new Map<string, { schema: PublishedSchema; types: string[] }>();
  for (const { schema, when } of definitions) {
    const resolvedSchema = resolveDefinition(schema, kind);
    const key = JSON.stringify([
      typeText(resolvedSchema),
      resolvedSchema.description,
      resolvedSchema.default,
    ]);
    const group = groups.get(key) ?? { schema: resolvedSchema, types: [] };
    if (when !== undefined) group.types.push(when);
    groups.set(key, group);
  }
  const all = [...groups.values()];
  // A single definition is shown even if it has no description.
  return all.filter(({ schema }) => schema.description !== undefined || all.length === 1);
}

function descriptionLines(
  { isRequired }: SchemaField,
  schema: PublishedSchema,
  types: readonly string[],
  isOneOfSeveral: boolean,
): string[] {
  const requiredText = isRequired && schema.default === undefined ? ', required' : '';
  const defaultText = isMeaningful(schema.default) ? `; default ${JSON.stringify(schema.default)}` : '';
  const facts = `${typeText(schema)}${requiredText}${defaultText}`;
  const { description } = schema;
  if (isOneOfSeveral && types.length > 0) {
    const words = description === undefined ? [facts] : [description, `(${facts})`];
    return [`  for ${types.join(', ')}: ${words.join(' ')}`];
  }
  return [
    ...(description === undefined ? [] : [`  ${description}`]),
    `  ${facts}`,
    ...(schema.writeOnly === true ? [`  A secret: write it as a variable, \${NAME}.`] : []),
  ];
}

function memberTable(members: readonly SchemaField[], width: number | undefined): string[] {
  // The column FOR is omitted if all rows are equal.
  const hasTypes = new Set(members.map(typesFor)).size > 1;
  const columns: Column<SchemaField>[] = [
    { title: 'FIELD', text: ({ path }) => path.at(-1) ?? '' },
    { title: 'TYPE', text: (member) => shortType(member) },
    { title: 'DEFAULT', text: (member) => shortDefault(member) },
    ...(hasTypes ? [{ title: 'FOR', text: typesFor }] : []),
    { title: 'MEANING', text: meaningOf },
  ];
  return table(columns, members, width);
}

/** Returns the types that have this field; '' if all have it. */
function typesFor({ definitions }: SchemaField): string {
  if (definitions.some(({ when }) => when === undefined)) return '';
  const types = [...new Set(definitions.map(({ when }) => when))];
  return types.length > MAX_TYPES ? `${types.length} types` : types.join(', ');
}

const MAX_TYPES = 2;
const MAX_CHARACTERS = 30;

function shortType({ definitions, kind }: SchemaField): string {
  const words = definitions.map(({ schema }) => typeText(resolveDefinition(schema, kind)));
  const names = [...new Set(words.filter((each) => each !== ANYTHING))];
  if (names.length > 1) return 'by type';
  const [full = ANYTHING] = names;
  const basicType = /^(?:a(?: whole)? number|text)/.exec(full)?.[0];
  if (basicType !== undefined && !full.includes(' or ')) return basicType;
  if (full.length <= MAX_CHARACTERS) return full;
  if (full.startsWith('one of ')) return 'one of several';
  return /^(?:a list|a mapping|text)/.exec(full)?.[0] ?? shorten(full);
}

function shortDefault({ isRequired, definitions }: SchemaField): string {
  const values = [
    ...new Set(
      definitions
        .map(({ schema }) => schema.default)
        .filter(isMeaningful)
        .map((each) => JSON.stringify(each)),
    ),
  ];
  if (values.length > 1) return 'by type';
  return values[0] === undefined ? (isRequired ? 'required' : '') : shorten(values[0]);
}

const shorten = (text: string) =>
  text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS - 1)}…`;

/** Returns false for empty defaults: the description explains the case. */
function isMeaningful(value: unknown): boolean {
  if (value === undefined || value === '') return false;
  return typeof value !== 'object' || value === null || Object.keys(value).length > 0;
}

const ANYTHING = 'anything';
/** Published schemas allow a variable in place of each value, with this pattern. Not part of the type. */
const REFERENCE = '\\$\\{';

/** Describes the allowed values, for example `a whole number from 1 to 100`. */
export function typeText(schema: PublishedSchema): string {
  const options = (schema.anyOf ?? []).filter(({ pattern }) => pattern !== REFERENCE);
  if (options.length > 0) return [...new Set(options.map(typeText))].join(' or ');
  if (schema.enum !== undefined) return `one of ${schema.enum.join(', ')}`;
  if (schema.const !== undefined) return `the word ${String(schema.const)}`;
  switch (schema.type) {
    case 'object':
      return isByName(schema) ? 'a mapping from names' : 'a mapping';
    case 'array': {
      const of = schema.items === undefined ? '' : ` of ${plural(typeText(schema.items))}`;
      return of === ` of ${ANYTHING}` ? 'a list' : `a list${of}`;
    }
    case 'boolean':
      return 'true or false';
    case 'integer':
      return `a whole number${range(schema)}`;
    case 'number':
      return `a number${range(schema)}`;
    case 'string': {
      const { patternErrorMessage: message } = schema;
      return message === undefined ? 'text' : message.startsWith('text') ? message : `text: ${message}`;
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
