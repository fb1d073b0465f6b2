// Translates the fields of other programs into ours by a table: their field → our field, and a converter for its value. Each
// format of the config folder has such tables, so that a new alias is one line. A translated value keeps the offset of the
// written one, so problems are reported at the place in the file.

import { joinPath } from './field-path.ts';
import type { SchemaReader } from './schema-reader.ts';
import { renamed } from './yaml-members.ts';
import type { YamlPair, YamlTree } from './yaml-tree.ts';

export interface FieldRule {
  /** Our field; undefined for the same name. */
  readonly to?: string;
  /** Converts the value at `path`, after its `fields`. */
  readonly value?: (value: YamlTree, reader: SchemaReader, path: string) => YamlTree;
  /** Rules for the fields of the value, or of each of its items. */
  readonly fields?: FieldTable;
  /** Reason why the field is refused, with the remedy. */
  readonly refused?: string;
}

/** Rules by the written field. A text is the name of our field. */
export type FieldTable = Readonly<Record<string, string | FieldRule>>;

/** Returns the rules that refuse fields, from the reasons by field. */
export function refusing(reasons: Readonly<Record<string, string>>): FieldTable {
  return Object.fromEntries(Object.entries(reasons).map(([key, refused]) => [key, { refused }]));
}

/** Returns the rule of a field. */
export function ruleOf(table: FieldTable, key: string): FieldRule | undefined {
  const rule = Object.hasOwn(table, key) ? table[key] : undefined;
  return typeof rule === 'string' ? { to: rule } : rule;
}

/** Translates a mapping. Reports refused fields, and fields that are given under two names, and omits them. */
export function translated<T extends YamlTree>(
  reader: SchemaReader,
  tree: T,
  path: string,
  table: FieldTable,
): T;
export function translated(reader: SchemaReader, tree: YamlTree, path: string, table: FieldTable): YamlTree {
  if (tree.kind !== 'map') return tree;
  const aliases = Object.keys(table).filter((key) => ruleOf(table, key)?.to !== undefined);
  if (aliases.length > 0) reader.alsoKnown(path, aliases);
  const accepted = tree.pairs.filter((pair) => {
    const reason = ruleOf(table, pair.key)?.refused;
    if (reason !== undefined) refuse(reader, path, pair, reason);
    return reason === undefined;
  });
  const isAlias = (key: string) => ruleOf(table, key)?.to !== undefined;
  const converted = (pair: YamlPair): YamlPair => {
    const { value, fields } = ruleOf(table, pair.key) ?? {};
    const at = joinPath(path, pair.key);
    const inner = fields === undefined ? pair.value : withFields(reader, pair.value, at, fields);
    return { ...pair, value: value === undefined ? inner : value(inner, reader, at) };
  };
  const pairs = accepted.map((pair) => (isAlias(pair.key) ? converted(pair) : pair));
  const named = renamed(reader, { ...tree, pairs }, path, (key) => ruleOf(table, key)?.to);
  return { ...named, pairs: named.pairs.map((pair) => (isAlias(pair.key) ? pair : converted(pair))) };
}

function withFields(reader: SchemaReader, tree: YamlTree, path: string, table: FieldTable): YamlTree {
  if (tree.kind !== 'list') return translated(reader, tree, path, table);
  const items = tree.items.map((item, index) => {
    const at = joinPath(path, index);
    if (item.kind === 'map') reader.place(at, item.offset, item.offset);
    return translated(reader, item, at, table);
  });
  return { ...tree, items };
}

/** Reports a field at its key. */
export function refuse(
  reader: SchemaReader,
  path: string,
  { key, keyOffset, value }: YamlPair,
  reason: string,
): void {
  const at = joinPath(path, key);
  reader.place(at, keyOffset, value.offset);
  reader.reportKey(at, reason);
}
