// The nodes of the cluster, as the inspector shows them.

import type { ClusterPart } from '../../../actors/cluster/cluster-part.ts';
import type { ClusterNumbers } from '../wire/feed-wire.ts';

export function clusterNumbers(
  part: Pick<ClusterPart, 'nodes' | 'staleSeconds'> | undefined,
  ownName: string,
): ClusterNumbers | null {
  if (part === undefined) return null;
  return {
    nodes: part.nodes.map((node) => ({ ...node, is_this: node.name === ownName })),
    stale_seconds: part.staleSeconds ?? null,
  };
}
