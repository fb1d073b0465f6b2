// What a schema expects and what a file holds, in plain words: "a number >= 0", "a list", "nothing".
// A value that may be a secret is described by its kind only (A9).

import type { YamlTree } from './yaml-tree.ts';

/** The part of JSON Schema that our TypeBox schemas use. */
export interface SchemaNode {
  readonly type?: 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean';
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly items?: SchemaNode;
  readonly maxItems?: number;
  readonly anyOf?: readonly SchemaNode[];
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  /** What the pattern asks for; editors show it too. */
  readonly patternErrorMessage?: string;
  /** JSON Schema's mark for values that are given but never shown. */
  readonly writeOnly?: boolean;
  /**
   * Rule for credentials in this field: `name` requires a credential name, `value` accepts any opaque value. By default every
   * value of a `writeOnly` field is a credential. Not for editors.
   */
  readonly secretBy?: 'name' | 'value';
  /** What the gateway tells of it, whoever asks: see shown-values.ts. Not for editors. */
  readonly shownAs?: 'name' | 'address';
}

/** "expected …"; `value` is what was found, so that only the rule it breaks is named. */
export function expectedBySchema(schema: SchemaNode, value: unknown): string {
  if (schema.anyOf !== undefined)
    return schema.anyOf.map((option) => expectedBySchema(option, value)).join(' or ');
  if (schema.enum !== undefined) return `one of ${schema.enum.join(', ')}`;
  switch (schema.type) {
    case 'object':
      return 'a mapping (key: value)';
    case 'array':
      return schema.maxItems === undefined ? 'a list' : `a list of at most ${schema.maxItems}`;
    case 'boolean':
      return 'true or false';
    case 'number':
      return `a number${bound(schema, value)}`;
    case 'integer':
      return `a whole number${bound(schema, value)}`;
    default:
      if (needsQuotes(schema, value)) return 'text';
      if (typeof value === 'string' && value.length < (schema.minLength ?? 0))
        return 'text that is not empty';
      if (typeof value === 'string' && value.length > (schema.maxLength ?? Number.POSITIVE_INFINITY))
        return `text of at most ${schema.maxLength} characters`;
      return value === undefined || value === null ? 'text' : (schema.patternErrorMessage ?? 'text');
  }
}

function bound({ minimum, exclusiveMinimum, maximum }: SchemaNode, value: unknown): string {
  if (typeof value === 'number' && maximum !== undefined && value > maximum) return ` <= ${maximum}`;
  if (exclusiveMinimum !== undefined) return ` > ${exclusiveMinimum}`;
  return minimum === undefined ? '' : ` >= ${minimum}`;
}

/** "found …"; `names` are the variables that the value came from, if it did, and `text` what they gave. */
export function foundInFile(
  schema: SchemaNode,
  tree: YamlTree,
  names: readonly string[],
  text: unknown,
): string {
  if (tree.kind === 'map') return 'a mapping';
  if (tree.kind === 'list') return schema.maxItems === undefined ? 'a list' : `${tree.items.length}`;
  if (names.length > 0)
    return `${text === '' ? 'nothing' : 'something else'} in ${names.map((name) => `\${${name}}`).join(' and ')}`;
  const { value } = tree;
  if (value === null || value === undefined) return 'nothing';
  if (value === '') return 'empty text';
  // Text in the place of a list or a mapping may be arguments, headers or an environment on one line.
  const mayShow =
    !schema.writeOnly && (schema.type !== undefined || schema.enum !== undefined) && !isContainer(schema);
  if (typeof value === 'string') return mayShow ? shorten(JSON.stringify(value)) : 'text';
  const kind =
    typeof value === 'number' ? 'a number' : typeof value === 'boolean' ? 'true or false' : 'something else';
  const shown = mayShow && kind !== 'something else' ? String(value) : kind;
  return needsQuotes(schema, value) ? `${shown}; put it in quotes` : shown;
}

/** A number or a switch that would do as text. */
function needsQuotes({ type, pattern }: SchemaNode, value: unknown): boolean {
  if (type !== 'string' || (typeof value !== 'number' && typeof value !== 'boolean')) return false;
  return pattern === undefined || new RegExp(pattern).test(String(value));
}

function isContainer({ type }: SchemaNode): boolean {
  return type === 'object' || type === 'array';
}

function shorten(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 56)}…"`;
}
