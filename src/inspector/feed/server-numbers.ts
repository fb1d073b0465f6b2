// The numbers of a server, as the feed tells them.

import type { Redactor } from '../../../actors/base/errors/redact.ts';
import type { ManagedServer } from '../../../actors/mcp/servers/managed-server.ts';
import { serverStats, serverTrouble } from '../../http/api/server-records.ts';
import type { ServerNumbers } from '../wire/feed-wire.ts';
import { ChangedRows } from './changed-rows.ts';

const MAX_ERROR = 300;

export function numbersOf(server: ManagedServer, redactor: Redactor): ServerNumbers {
  const trouble = serverTrouble(server, (text) => redactor.excerpt(text, MAX_ERROR));
  return { id: server.id, ...serverStats(server), ...trouble };
}

/** Percentiles are sorted out of a thousand latencies: not for a server that nobody has called meanwhile. */
function markOf({ state, handle, restarts, nextRetryAt, lastError }: ManagedServer): string {
  return `${state} ${handle.requests} ${handle.failed} ${handle.inFlight} ${handle.waiting} ${restarts} ${nextRetryAt} ${handle.isParked} ${lastError?.message}`;
}

export function changedServers(redactor: Redactor): ChangedRows<ManagedServer, ServerNumbers> {
  return new ChangedRows({ idOf: ({ id }) => id, markOf, rowOf: (server) => numbersOf(server, redactor) });
}
