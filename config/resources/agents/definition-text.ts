// Serialises an agent's `spec`: started runs continue with the same definition (R4, begun-row.ts). The text
// is created before substitution: it contains variable names, never their values, so it can be stored in the
// journal of a run (A9, ARCHITECTURE.md).

import { plainValue } from '../../reader/yaml-members.ts';
import type { YamlPair, YamlTree } from '../../reader/yaml-tree.ts';

/** Returns the definition as JSON text. */
export const definitionOf = (spec: YamlTree): string => JSON.stringify(plainValue(spec));

/** Parses a definition; all offsets are 0. Throws SyntaxError. */
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
