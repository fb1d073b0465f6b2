// A session's state at its servers: log level, resource subscriptions, and processes that serve this session
// only. It is read for the session's record (the data to restore it), and reapplied when the session is
// restored. A process cannot be restored: its loss is noted, and the next call to the server reports it.

import type { ManagedServer } from '../../servers/managed-server.ts';
import { subscribeResources } from './resource-subscription.ts';
import type { ClientSession } from './session.ts';
import type { SessionState, StoredSubscription } from './session-record.ts';

/** Maximum total length for the uris in a record. Further subscriptions are lost when the gateway stops. */
const MAX_URI_CHARS = 65_536;

/** Returns the state at these servers. */
export function readState(session: ClientSession, servers: readonly ManagedServer[]): SessionState {
  const subscriptions: StoredSubscription[] = [];
  let level: SessionState['level'];
  let length = 0;
  for (const server of servers) {
    // A session has one level at all its servers.
    level ??= server.subscriptions.levelOf(session);
    for (const uri of server.subscriptions.urisOf(session)) {
      length += uri.length;
      // True if the client subscribed under an address that contains the server id (address-form.ts).
      const isQualified = session.qualifiedSubscriptions.has(server.id, uri);
      if (length > MAX_URI_CHARS) continue;
      subscriptions.push(isQualified ? [server.id, uri, true] : [server.id, uri]);
    }
  }
  return { level, subscriptions, processes: [...session.processes] };
}

/**
 * Repeats log level and subscriptions at these servers, and notes the loss of processes. Servers with
 * subscriptions are started.
 */
export function applyState(
  session: ClientSession,
  { level, subscriptions, processes }: SessionState,
  servers: readonly ManagedServer[],
): void {
  for (const server of servers) {
    if (level !== undefined) server.setLevel(session, level);
    const own = subscriptions.filter(([id]) => id === server.id);
    for (const [id, uri, isQualified = false] of own)
      session.qualifiedSubscriptions.note(id, uri, isQualified);
    const uris = own.map(([, uri]) => uri);
    if (uris.length > 0) void subscribeResources(server, session, uris);
    if (processes.includes(server.id)) session.noteLostProcess(server.id);
  }
}
