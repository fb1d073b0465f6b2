// Accesses and rewrites a tree before validation. Rewritten values keep their offsets, so problems have
// positions in the file.

import { joinPath } from './field-path.ts';
import type { SchemaReader } from './schema-reader.ts';
import type { YamlMap, YamlScalar, YamlTree } from './yaml-tree.ts';

/** Returns a member's value; undefined if the tree is not a mapping or does not have it. */
export function memberOf(tree: YamlTree | undefined, key: string): YamlTree | undefined {
  if (tree?.kind !== 'map') return undefined;
  return tree.pairs.find((pair) => pair.key === key)?.value;
}

/** Returns a string scalar's text. */
export function textOf(tree: YamlTree | undefined): string | undefined {
  return tree?.kind === 'scalar' && typeof tree.value === 'string' ? tree.value : undefined;
}

/** Converts the tree to a JSON value. */
export function plainValue(tree: YamlTree): unknown {
  if (tree.kind === 'scalar') return tree.value;
  if (tree.kind === 'list') return tree.items.map(plainValue);
  return Object.fromEntries(tree.pairs.map(({ key, value }) => [key, plainValue(value)]));
}

/** Creates a scalar with the position of another value. */
export function scalarLike(tree: YamlTree, value: string | number): YamlScalar {
  const { offset } = tree;
  return { kind: 'scalar', offset, end: tree.kind === 'scalar' ? tree.end : offset, value };
}

/** Returns the tree with a changed member; unchanged if the key is missing. */
export function withMember<T extends YamlTree>(
  tree: T,
  key: string,
  change: (value: YamlTree) => YamlTree,
): T;
export function withMember(tree: YamlTree, key: string, change: (value: YamlTree) => YamlTree): YamlTree {
  if (tree.kind !== 'map') return tree;
  const pairs = tree.pairs.map((pair) => (pair.key === key ? { ...pair, value: change(pair.value) } : pair));
  return { ...tree, pairs };
}

/** Returns the mapping without some members. */
export function withoutMembers<T extends YamlTree>(tree: T, keys: readonly string[]): T;
export function withoutMembers(tree: YamlTree, keys: readonly string[]): YamlTree {
  if (tree.kind !== 'map') return tree;
  return { ...tree, pairs: tree.pairs.filter(({ key }) => !keys.includes(key)) };
}

/**
 * Appends items to the list under the given keys, and creates the list if necessary. Returns trees with
 * another structure unchanged.
 */
export function withItems(
  tree: YamlTree,
  [key = '', ...inner]: readonly string[],
  items: readonly YamlTree[],
  offset: number,
): YamlTree {
  if (tree.kind !== 'map' || items.length === 0) return tree;
  const append = (value: YamlTree): YamlTree => {
    if (inner.length > 0) return withItems(value, inner, items, offset);
    return value.kind === 'list' ? { ...value, items: [...value.items, ...items] } : value;
  };
  if (memberOf(tree, key) !== undefined) return withMember(tree, key, append);
  const empty: YamlTree =
    inner.length > 0 ? { kind: 'map', offset, pairs: [] } : { kind: 'list', offset, items: [] };
  return { ...tree, pairs: [...tree.pairs, { key, keyOffset: offset, value: append(empty) }] };
}

/** Renames keys; `newName` returns undefined, or the same key, for keys that stay. Reports duplicates. */
export function renameKeys(
  reader: SchemaReader,
  map: YamlMap,
  path: string,
  newName: (key: string) => string | undefined,
): YamlMap {
  const isRenamed = (key: string) => (newName(key) ?? key) !== key;
  const writtenAs = new Map(map.pairs.filter(({ key }) => !isRenamed(key)).map(({ key }) => [key, key]));
  const pairs = map.pairs.flatMap((pair) => {
    if (!isRenamed(pair.key)) return [pair];
    const key = newName(pair.key) ?? pair.key;
    const earlier = writtenAs.get(key);
    if (earlier === undefined) {
      writtenAs.set(key, pair.key);
      return [{ ...pair, key }];
    }
    const fieldPath = joinPath(path, pair.key);
    reader.recordPosition(fieldPath, pair.keyOffset, pair.value.offset);
    const conflict = earlier === key ? 'is also present' : `is also set by ${earlier}`;
    reader.reportKey(fieldPath, `means ${key}, which ${conflict}`);
    return [];
  });
  return { ...map, pairs };
}
