// Parses TOML to the tree of yaml-tree.ts, with offsets. Loaded only for files that end in `.toml`. Messages
// do not contain text of the file (A9, ARCHITECTURE.md).

import { type AST, ParseError, parseTOML } from 'toml-eslint-parser';
import type { SourceFile } from './source-file.ts';
import type { ParsedYaml, YamlPair, YamlTree } from './yaml-tree.ts';

interface OpenMap {
  readonly kind: 'map';
  readonly offset: number;
  readonly pairs: YamlPair[];
}

const MAX_DEPTH = 64;
/** Deeper than any valid file; the parser calls itself for each level. */
const nestedTooDeeply = new RegExp(`(?:[[{]\\s*){${MAX_DEPTH}}`);

/** Parses a file. Never throws. */
export function parseTomlTree(source: SourceFile): ParsedYaml {
  const deep = nestedTooDeeply.exec(source.text);
  if (deep !== null) return broken(source, deep.index, 'values are nested too deeply');
  try {
    const [table] = parseTOML(source.text).body;
    const root: OpenMap = { kind: 'map', offset: 0, pairs: [] };
    for (const node of table.body) addNode(root, node);
    return { root: root.pairs.length === 0 ? undefined : root, problems: [], isBroken: false };
  } catch (error) {
    if (!(error instanceof ParseError)) return broken(source, 0, 'the file cannot be read as TOML');
    return broken(source, error.index, `invalid TOML: ${error.message}`);
  }
}

function broken(source: SourceFile, offset: number, message: string): ParsedYaml {
  return { root: undefined, problems: [source.problem(offset, message)], isBroken: true };
}

function addNode(root: OpenMap, node: AST.TOMLKeyValue | AST.TOMLTable): void {
  if (node.type === 'TOMLKeyValue') {
    addPair(root, node);
    return;
  }
  const keys = node.key.keys;
  const map = keys.reduce((parent, key) => innerMap(parent, key), root);
  for (const pair of node.body) addPair(map, pair);
}

function addPair(map: OpenMap, { key, value }: AST.TOMLKeyValue): void {
  const parent = key.keys.slice(0, -1).reduce((outer, each) => innerMap(outer, each), map);
  const last = key.keys.at(-1);
  if (last !== undefined)
    parent.pairs.push({ key: nameOf(last), keyOffset: last.range[0], value: treeOf(value) });
}

/** Returns the map under a key, or the last one of an array of tables; creates it if necessary. */
function innerMap(map: OpenMap, key: AST.TOMLBare | AST.TOMLQuoted): OpenMap {
  const name = nameOf(key);
  const [offset] = key.range;
  const existing = map.pairs.find((pair) => pair.key === name)?.value;
  if (existing?.kind === 'map') return existing as OpenMap;
  const inner: OpenMap = { kind: 'map', offset, pairs: [] };
  map.pairs.push({ key: name, keyOffset: offset, value: inner });
  return inner;
}

const nameOf = (key: AST.TOMLBare | AST.TOMLQuoted): string =>
  key.type === 'TOMLBare' ? key.name : key.value;

function treeOf(node: AST.TOMLContentNode): YamlTree {
  const [offset, end] = node.range;
  if (node.type === 'TOMLArray') return { kind: 'list', offset, items: node.elements.map(treeOf) };
  if (node.type === 'TOMLInlineTable') {
    const map: OpenMap = { kind: 'map', offset, pairs: [] };
    for (const pair of node.body) addPair(map, pair);
    return map;
  }
  return { kind: 'scalar', offset, end, value: node.value };
}
