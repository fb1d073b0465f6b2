// Differences between the nodes of a cluster, and the filter over them.

import type { NodeStatus } from '../../http/api/node-shapes.ts';
import type { ClusterNumbers } from '../wire/feed-wire.ts';

const compared = [
  ['config_hash', 'configuration'],
  ['version', 'version'],
] as const;

/** Returns `configuration` and `version`, if any two nodes differ there; a missing value is no difference. */
export function differingWords(nodes: readonly NodeStatus[]): readonly string[] {
  return compared.flatMap(([field, word]) => {
    const values = nodes.flatMap((node) => node[field] ?? []);
    return new Set(values).size > 1 ? [word] : [];
  });
}

/** Returns true if a node differs from the one that serves this page. */
export function differsFromOwn(node: NodeStatus, { nodes, own }: ClusterNumbers): boolean {
  const serving = nodes.find(({ name }) => name === own);
  return serving !== undefined && differingWords([serving, node]).length > 0;
}

/** Those that have all of these words; a hash by its beginning. */
export function matchingNodes(nodes: readonly NodeStatus[], filter: string): readonly NodeStatus[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return nodes.filter(({ name, state, version, config_hash }) => {
    const text = `node ${name} ${state} ${version ?? ''}`.toLowerCase();
    return words.every((word) => text.includes(word) || config_hash?.startsWith(word) === true);
  });
}
