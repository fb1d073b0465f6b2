// A session's state at its servers: log level, resource subscriptions, private processes. It is read for
// the session's record, and reapplied when the session is restored.

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
    level ??= server.subscriptions.levelOf(session);
    for (const uri of server.subscriptions.urisOf(session)) {
      length += uri.length;
      const isQualified = session.qualifiedSubscriptions.has(server.id, uri);
      if (length > MAX_URI_CHARS) continue;
      subscriptions.push(isQualified ? [server.id, uri, true] : [server.id, uri]);
    }
  }
  return { level, subscriptions, processes: [...session.processes] };
}

/** Repeats log level and subscriptions at these servers. Servers with subscriptions are started. */
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
