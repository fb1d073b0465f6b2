// Advice for a field that expects a mapping, but has another value: for `retry: 3` the advice is
// `retry: { attempts: 3 }`. The schema determines the form. A value of the file may be a credential, so the
// advice contains only numbers and booleans from the file (A9, ARCHITECTURE.md).

import { fieldName } from './field-path.ts';
import type { SchemaNode } from './schema-descriptions.ts';
import { isValid } from './schema-match.ts';
import type { YamlTree } from './yaml-tree.ts';

const MAX_MEMBERS = 3;
const MAX_DEPTH = 3;

/**
 * Returns the form of the mapping that `schema` expects at `path`. Returns undefined if no mapping is
 * expected, or if its members are unknown.
 */
export function mappingAdvice(schema: SchemaNode, tree: YamlTree, path: string): string | undefined {
  const mapping = (schema.anyOf ?? [schema]).find(({ type }) => type === 'object');
  if (mapping === undefined || tree.kind === 'map') return undefined;
  const form = formOf(mapping, tree.kind === 'scalar' ? tree.value : undefined, 1);
  if (form === undefined) return undefined;
  const name = path.endsWith(']') ? '' : fieldName(path);
  return `write ${name === '' ? '' : `${name}: `}${form}`;
}

/** Returns a form such as `{ url: URL }`. A number or boolean becomes the value of a member of its type. */
function formOf(schema: SchemaNode, value: unknown, depth: number): string | undefined {
  const { properties = {}, patternProperties = {}, required = [] } = schema;
  const [anyMember] = Object.values(patternProperties);
  if (anyMember !== undefined) return `{ NAME: ${exampleOf('value', anyMember, depth)} }`;
  const needed = required.filter((name) => properties[name]?.default === undefined).slice(0, MAX_MEMBERS);
  const match = Object.entries(properties).find(([, member]) => doesAccept(member, value));
  if (needed.length === 0 && match !== undefined) return `{ ${match[0]}: ${String(value)} }`;
  const names = needed.length > 0 ? needed : typicalMember(properties);
  const members = names.map((name) => `${name}: ${exampleOf(name, properties[name] ?? {}, depth)}`);
  return members.length === 0 ? undefined : `{ ${members.join(', ')} }`;
}

/** Returns the first member without an enum. */
const typicalMember = (properties: Readonly<Record<string, SchemaNode>>): string[] =>
  Object.keys(properties)
    .filter((name) => properties[name]?.enum === undefined)
    .slice(0, 1);

const doesAccept = (member: SchemaNode, value: unknown): boolean =>
  (typeof value === 'number' || typeof value === 'boolean') && isValid(member, value);

/** Returns an example for a member: a default, a word of the schema, or its name in capitals. */
function exampleOf(name: string, schema: SchemaNode, depth: number): string {
  const [first = schema] = schema.anyOf ?? [];
  const word = first.default ?? schema.default ?? first.enum?.[0];
  if (['string', 'number', 'boolean'].includes(typeof word) && word !== '') return String(word);
  switch (first.type) {
    case 'object':
      return (depth < MAX_DEPTH ? formOf(first, undefined, depth + 1) : undefined) ?? '{}';
    case 'array':
      return '[]';
    case 'boolean':
      return 'true';
    case 'integer':
    case 'number':
      return String(first.minimum ?? 1);
    default:
      return name.toUpperCase();
  }
}
