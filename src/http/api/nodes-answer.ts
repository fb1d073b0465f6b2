// GET /nodes: the gateways that share a store, the same at each of them.

import type { NodeStatus } from '../../../actors/cluster/node-list.ts';
import type { GatewayNode } from '../../../actors/gateway/gateway-node.ts';

export interface NodesAnswer {
  readonly nodes: readonly NodeStatus[];
  /** While the database is away: how old the list is. */
  readonly stale_seconds?: number;
}

export function nodesAnswer({ all: nodes, cluster }: GatewayNode): NodesAnswer {
  const stale_seconds = cluster?.staleSeconds;
  return stale_seconds === undefined ? { nodes } : { nodes, stale_seconds };
}
