// JSON of `GET /nodes`. Types for API, CLI and inspector (server-shapes.ts).

import type { NodeStatus } from '../../../actors/cluster/node-list.ts';

export type { NodeStatus };

export interface NodesAnswer {
  readonly nodes: readonly NodeStatus[];
  /** Age of the list while the database is away. */
  readonly stale_seconds?: number;
}
