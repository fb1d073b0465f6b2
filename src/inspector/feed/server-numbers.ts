// Figures of each server for the inspector's feed: requests, failures, restarts, latencies.

import type { Redactor } from '../../../actors/base/errors/redact.ts';
import type { ManagedServer } from '../../../actors/mcp/servers/managed-server.ts';
import { serverStats, serverTrouble } from '../../http/api/server-records.ts';
import type { ServerNumbers } from '../wire/feed.ts';
import { ChangedRows } from './changed-rows.ts';

/** Maximum length of an error message, in characters. */
const MAX_ERROR = 300;

export function numbersOf(server: ManagedServer, redactor: Redactor): ServerNumbers {
  const trouble = serverTrouble(server, (text) => redactor.excerpt(text, MAX_ERROR));
  return { id: server.id, ...serverStats(server), ...trouble };
}

/** Returns a fingerprint. Percentiles are omitted, because computing them sorts a thousand latencies. */
function fingerprintOf(server: ManagedServer): string {
  const { state, installation, handle, restarts, nextRetryAt, lastError } = server;
  return `${state} ${installation?.startedAt} ${installation?.lineCount} ${handle.requests} ${handle.failed} ${handle.toolErrors} ${handle.inFlight} ${handle.waiting} ${restarts} ${nextRetryAt} ${handle.isParked} ${lastError?.message}`;
}

export function trackServers(redactor: Redactor): ChangedRows<ManagedServer, ServerNumbers> {
  return new ChangedRows({
    idOf: ({ id }) => id,
    fingerprintOf,
    rowOf: (server) => numbersOf(server, redactor),
  });
}
