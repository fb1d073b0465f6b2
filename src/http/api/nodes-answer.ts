// GET /nodes: the gateways that share a store. All of them return the same list.

import type { GatewayNode } from '../../../actors/gateway/node.ts';
import type { NodesAnswer } from './node-shapes.ts';

export function nodesAnswer({ all: nodes, cluster }: Pick<GatewayNode, 'all' | 'cluster'>): NodesAnswer {
  const stale_seconds = cluster?.staleSeconds;
  return stale_seconds === undefined ? { nodes } : { nodes, stale_seconds };
}
