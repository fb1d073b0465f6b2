// Serialises the `spec` of an agent, fleet or flow. A run stores this text, its definition, when it starts,
// and continues with it even if the file changes (R4, begun-row.ts). The text contains names of variables,
// never their values, because a stored run must contain no credentials (A9, ARCHITECTURE.md).

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
