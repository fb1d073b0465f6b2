// Translates field names of other programs (aliases) by a table: alias → field of the schema, and a converter
// for the value. Each format in the config folder has such tables, so an alias is a single line. Translated
// values keep their offsets, so problems have positions in the file.

import { joinPath } from './field-path.ts';
import type { SchemaReader } from './schema-reader.ts';
import { renameKeys } from './yaml-members.ts';
import type { YamlPair, YamlTree } from './yaml-tree.ts';

export interface FieldRule {
  /** Field of the schema; undefined for the same name. */
  readonly to?: string;
  /** Converts the value at `path`, after the rules in `fields` have converted its fields. */
  readonly value?: (value: YamlTree, reader: SchemaReader, path: string) => YamlTree;
  /** Rules for the fields of the value or its items. */
  readonly fields?: FieldTable;
  /** Reason for refusing the field, with the remedy. */
  readonly refused?: string;
}

/** Rules by alias. A text is the name of the schema's field. */
export type FieldTable = Readonly<Record<string, string | FieldRule>>;

/** Returns rules that refuse fields, from reasons by field. */
export function refusing(reasons: Readonly<Record<string, string>>): FieldTable {
  return Object.fromEntries(Object.entries(reasons).map(([key, refused]) => [key, { refused }]));
}

/** Returns the field's rule. */
export function ruleOf(table: FieldTable, key: string): FieldRule | undefined {
  const rule = Object.hasOwn(table, key) ? table[key] : undefined;
  return typeof rule === 'string' ? { to: rule } : rule;
}

/** Translates a mapping. Reports and omits refused fields and duplicates under two names. */
export function translateFields<T extends YamlTree>(
  reader: SchemaReader,
  tree: T,
  path: string,
  table: FieldTable,
): T;
export function translateFields(
  reader: SchemaReader,
  tree: YamlTree,
  path: string,
  table: FieldTable,
): YamlTree {
  if (tree.kind !== 'map') return tree;
  const aliases = Object.keys(table).filter((key) => ruleOf(table, key)?.to !== undefined);
  if (aliases.length > 0) reader.registerAliases(path, aliases);
  const accepted = tree.pairs.filter((pair) => {
    const reason = ruleOf(table, pair.key)?.refused;
    if (reason !== undefined) refuse(reader, path, pair, reason);
    return reason === undefined;
  });
  const isAlias = (key: string) => ruleOf(table, key)?.to !== undefined;
  const converted = (pair: YamlPair): YamlPair => {
    const { value, fields } = ruleOf(table, pair.key) ?? {};
    const fieldPath = joinPath(path, pair.key);
    const inner = fields === undefined ? pair.value : withFields(reader, pair.value, fieldPath, fields);
    return { ...pair, value: value === undefined ? inner : value(inner, reader, fieldPath) };
  };
  // The rules of aliases apply before the renaming. The rules of the schema's fields apply after it, to all
  // values.
  const pairs = accepted.map((pair) => (isAlias(pair.key) ? converted(pair) : pair));
  const renamedTree = renameKeys(reader, { ...tree, pairs }, path, (key) => ruleOf(table, key)?.to);
  return {
    ...renamedTree,
    pairs: renamedTree.pairs.map((pair) => (isAlias(pair.key) ? pair : converted(pair))),
  };
}

function withFields(reader: SchemaReader, tree: YamlTree, path: string, table: FieldTable): YamlTree {
  if (tree.kind !== 'list') return translateFields(reader, tree, path, table);
  const items = tree.items.map((item, index) => {
    const fieldPath = joinPath(path, index);
    if (item.kind === 'map') reader.recordPosition(fieldPath, item.offset, item.offset);
    return translateFields(reader, item, fieldPath, table);
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
  const fieldPath = joinPath(path, key);
  reader.recordPosition(fieldPath, keyOffset, value.offset);
  reader.reportKey(fieldPath, reason);
}
