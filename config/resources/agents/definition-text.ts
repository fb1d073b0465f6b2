// The `spec` of an agent as it was written, as text: what a run that has begun goes on by (R4). It is made of the file before any
// variable is replaced, so that it can stand in a journal.
//
// DEF1  no value of a variable is in it: of `${NAME}` it has the name (A9).

import { plainValue } from '../../reader/yaml-members.ts';
import type { YamlPair, YamlTree } from '../../reader/yaml-tree.ts';

/** JSON text. */
export const definitionOf = (spec: YamlTree): string => JSON.stringify(plainValue(spec));

/** The tree of such a text, all of it at the beginning of its file. Throws SyntaxError. */
export const definitionTree = (text: string): YamlTree => treeOf(JSON.parse(text));

function treeOf(value: unknown): YamlTree {
  if (Array.isArray(value)) return { kind: 'list', offset: 0, items: value.map(treeOf) };
  if (typeof value !== 'object' || value === null) return { kind: 'scalar', offset: 0, end: 0, value };
  const pairs: YamlPair[] = Object.entries(value).map(([key, member]) => ({
    key,
    keyOffset: 0,
    value: treeOf(member),
  }));
  return { kind: 'map', offset: 0, pairs };
}
