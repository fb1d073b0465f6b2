// Parses TOML to the tree of yaml-tree.ts, with offsets. This module is loaded only for files that end in
// `.toml`. Messages do not contain text of the file (A9, ARCHITECTURE.md).

import { type AST, ParseError, parseTOML } from 'toml-eslint-parser';
import type { SourceFile } from './source-file.ts';
import type { ParsedYaml, YamlPair, YamlTree } from './yaml-tree.ts';

interface OpenMap {
  readonly kind: 'map';
  readonly offset: number;
  readonly pairs: YamlPair[];
}

/** Maximum nesting; valid files have less. The parser and the readers of the tree recurse for each level. */
const MAX_DEPTH = 64;
const TOO_DEEP = 'values are nested too deeply';

/** Quoted texts, comments and brackets. A text without its end extends to the end of the line or file. */
const tokens =
  /"""(?:[^\\]|\\[\s\S]?)*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"[^"\\\n]*(?:\\.?[^"\\\n]*)*"?|'[^'\n]*'?|#.*|[[{\]}]/g;

/** Parses a file. Never throws. */
export function parseTomlTree(source: SourceFile): ParsedYaml {
  try {
    const bracket = deepBracket(source.text);
    if (bracket !== undefined) return broken(source, bracket, TOO_DEEP);
    const [table] = parseTOML(source.text).body;
    const root: OpenMap = { kind: 'map', offset: 0, pairs: [] };
    for (const node of table.body) addNode(root, node);
    const value = deepValue(root);
    if (value !== undefined) return broken(source, value.offset, TOO_DEEP);
    return { root: root.pairs.length === 0 ? undefined : root, problems: [], isBroken: false };
  } catch (error) {
    if (!(error instanceof ParseError)) return broken(source, 0, 'the file cannot be read as TOML');
    return broken(source, error.index, `invalid TOML: ${error.message}`);
  }
}

/** Returns the offset of an outermost bracket that contains too many others. */
function deepBracket(text: string): number | undefined {
  let depth = 0;
  let outermost = 0;
  for (const { 0: token, index } of text.matchAll(tokens)) {
    if (token === '[' || token === '{') {
      if (depth === 0) outermost = index;
      depth += 1;
      if (depth > MAX_DEPTH) return outermost;
    } else if (token === ']' || token === '}') depth = Math.max(0, depth - 1);
  }
  return undefined;
}

/** Returns a value that is nested too deeply without brackets, by keys with dots (`a.b.c = 1`). */
function deepValue(root: YamlTree): YamlTree | undefined {
  let level: readonly YamlTree[] = [root];
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) level = level.flatMap(childrenOf);
  return level[0];
}

function childrenOf(tree: YamlTree): readonly YamlTree[] {
  if (tree.kind === 'map') return tree.pairs.map(({ value }) => value);
  return tree.kind === 'list' ? tree.items : [];
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

/** Returns the map under a key; creates it if necessary. The tables of an array share one map. */
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
