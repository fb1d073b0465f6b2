// Compares the configuration and version of nodes (gateways of a cluster), and filters nodes.

import type { NodeStatus } from '../../http/api/node-shapes.ts';
import type { ClusterNumbers } from '../wire/feed.ts';

const compared = [
  ['config_hash', 'configuration'],
  ['version', 'version'],
] as const;

/** Returns the fields in which nodes differ: `configuration`, `version`. Missing values are ignored. */
export function differingFields(nodes: readonly NodeStatus[]): readonly string[] {
  return compared.flatMap(([field, label]) => {
    const values = nodes.flatMap((node) => node[field] ?? []);
    return new Set(values).size > 1 ? [label] : [];
  });
}

/** Returns true if a node differs from the node of this page. */
export function differsFromOwn(node: NodeStatus, { nodes, own }: ClusterNumbers): boolean {
  const serving = nodes.find(({ name }) => name === own);
  return serving !== undefined && differingFields([serving, node]).length > 0;
}

/** Returns the nodes that match all terms; hashes match by prefix. */
export function matchingNodes(nodes: readonly NodeStatus[], filter: string): readonly NodeStatus[] {
  const terms = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return nodes.filter(({ name, state, version, config_hash }) => {
    const text = `node ${name} ${state} ${version ?? ''}`.toLowerCase();
    return terms.every((label) => text.includes(label) || config_hash?.startsWith(label) === true);
  });
}
