// Types of the JSON of `GET /nodes`, for API, CLI and inspector (see server-shapes.ts).

import type { NodeStatus } from '../../../actors/cluster/node-list.ts';

export type { NodeStatus };

export interface NodesAnswer {
  readonly nodes: readonly NodeStatus[];
  /** Age of the list. Set only if the database is unavailable. */
  readonly stale_seconds?: number;
}
