// The numbers of a server, as the feed tells them.

import type { ManagedServer } from '../../actors/server/managed-server.ts';
import { serverStats } from '../http/api/records.ts';
import { ChangedRows } from './changed-rows.ts';
import type { ServerNumbers } from './wire.ts';

export function numbersOf(server: ManagedServer): ServerNumbers {
  return {
    id: server.id,
    ...serverStats(server),
    next_retry_at: server.nextRetryAt ?? null,
    is_parked: server.handle.isParked,
  };
}

/** Percentiles are sorted out of a thousand latencies: not for a server that nobody has called meanwhile. */
function markOf({ state, handle, restarts, nextRetryAt }: ManagedServer): string {
  return `${state} ${handle.requests} ${handle.failed} ${handle.inFlight} ${handle.waiting} ${restarts} ${nextRetryAt} ${handle.isParked}`;
}

export function changedServers(): ChangedRows<ManagedServer, ServerNumbers> {
  return new ChangedRows({ idOf: ({ id }) => id, markOf, rowOf: numbersOf });
}
