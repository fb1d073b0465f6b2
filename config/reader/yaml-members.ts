// Looking into a tree before its schema is known, and writing what was spelled otherwise as it is meant. Offsets stay
// those of what was written, so that problems are reported there.

import { joinPath } from './field-path.ts';
import type { SchemaReader } from './schema-reader.ts';
import type { YamlMap, YamlScalar, YamlTree } from './yaml-tree.ts';

/** The value of a member, if `tree` is a mapping that has it. */
export function memberOf(tree: YamlTree | undefined, key: string): YamlTree | undefined {
  if (tree?.kind !== 'map') return undefined;
  return tree.pairs.find((pair) => pair.key === key)?.value;
}

/** The text of a scalar. */
export function textOf(tree: YamlTree | undefined): string | undefined {
  return tree?.kind === 'scalar' && typeof tree.value === 'string' ? tree.value : undefined;
}

/** What JSON would have in the place of the tree. */
export function plainValue(tree: YamlTree): unknown {
  if (tree.kind === 'scalar') return tree.value;
  if (tree.kind === 'list') return tree.items.map(plainValue);
  return Object.fromEntries(tree.pairs.map(({ key, value }) => [key, plainValue(value)]));
}

/** A value in the place of another one, at which its problems are reported. */
export function scalarLike(tree: YamlTree, value: string | number): YamlScalar {
  const { offset } = tree;
  return { kind: 'scalar', offset, end: tree.kind === 'scalar' ? tree.end : offset, value };
}

/** The tree with one member changed; itself when it has none of that key. */
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

/** Appends items to the list at a path of keys, and creates it if necessary; returns a tree of another form unchanged. */
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

/**
 * The mapping under the names that are meant; `meant` gives undefined, or the same, for a key that stays. Reports what is
 * named twice.
 */
export function renamed(
  reader: SchemaReader,
  map: YamlMap,
  path: string,
  meant: (key: string) => string | undefined,
): YamlMap {
  const isOther = (key: string) => (meant(key) ?? key) !== key;
  const writtenAs = new Map(map.pairs.filter(({ key }) => !isOther(key)).map(({ key }) => [key, key]));
  const pairs = map.pairs.flatMap((pair) => {
    if (!isOther(pair.key)) return [pair];
    const key = meant(pair.key) ?? pair.key;
    const earlier = writtenAs.get(key);
    if (earlier === undefined) {
      writtenAs.set(key, pair.key);
      return [{ ...pair, key }];
    }
    const at = joinPath(path, pair.key);
    reader.place(at, pair.keyOffset, pair.value.offset);
    const twin = earlier === key ? 'is there too' : `${earlier} means as well`;
    reader.reportKey(at, `means ${key}, which ${twin}`);
    return [];
  });
  return { ...map, pairs };
}
