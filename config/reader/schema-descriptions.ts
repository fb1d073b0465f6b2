// Describes expected and found values in messages: "a number >= 0", "a list", "nothing". For possible
// secrets, only the kind is named (A9, ARCHITECTURE.md).

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
  /** Description of the pattern; editors show it. */
  readonly patternErrorMessage?: string;
  /** JSON Schema's mark for values that are never returned. */
  readonly writeOnly?: boolean;
  /**
   * Rule for credentials in this field: `name` requires a credential name, `value` accepts any opaque value.
   * By default, every value in `writeOnly` fields is a credential. Internal: not exported to JSON Schemas.
   */
  readonly secretBy?: 'name' | 'value';
  /**
   * Reason to show the value in the API: it is a name or path, or an address, which is shown only without
   * possible keys (visible-values.ts). Internal: not exported to JSON Schemas.
   */
  readonly shownAs?: 'name' | 'address';
}

/**
 * Describes the expected value. `value` is the actual value: the description names only the violated rule.
 */
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
      if (typeof value === 'string' && value.length < (schema.minLength ?? 0)) return 'non-empty text';
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

/**
 * Describes the actual value. `names` are the variables it comes from, and `text` is the substituted text.
 */
export function foundInFile(
  schema: SchemaNode,
  tree: YamlTree,
  names: readonly string[],
  text: unknown,
): string {
  if (tree.kind === 'map') return 'a mapping';
  // The number completes "expected a list of at most 8, found 9".
  if (tree.kind === 'list') return schema.maxItems === undefined ? 'a list' : `${tree.items.length}`;
  if (names.length > 0)
    return `${text === '' ? 'nothing' : 'something else'} in ${names.map((name) => `\${${name}}`).join(' and ')}`;
  const { value } = tree;
  if (value === null || value === undefined) return 'nothing';
  if (value === '') return 'empty text';
  // Text instead of a list or mapping may contain arguments, headers or variables.
  const canShow =
    !schema.writeOnly && (schema.type !== undefined || schema.enum !== undefined) && !isContainer(schema);
  if (typeof value === 'string') return canShow ? shorten(JSON.stringify(value)) : 'text';
  const kind =
    typeof value === 'number' ? 'a number' : typeof value === 'boolean' ? 'true or false' : 'something else';
  const shown = canShow && kind !== 'something else' ? String(value) : kind;
  return needsQuotes(schema, value) ? `${shown}; put it in quotes` : shown;
}

/** Returns true for a number or boolean that would be valid as text. */
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
