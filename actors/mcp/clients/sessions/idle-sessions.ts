// Sessions in the order of their last use. At the limit of sessions, the longest unused one is found without
// a scan, and unloaded from memory (A8, ARCHITECTURE.md). A message does not move its session. Instead
// `first` corrects the order at the front: a session used since it was queued moves to the end, and a session
// in use (open stream or request) leaves the queues until its use ends. Sessions with a record (stored data
// to restore them) and sessions without one have separate queues.

import type { SessionOwner } from './owner-budget.ts';
import type { ClientSession } from './session.ts';

/** All sessions with a record, all without one, or those with a record of one verified sender or address. */
type QueueName = 'stored' | 'unstored' | `${keyof SessionOwner} ${string}`;

export class IdleSessions {
  readonly #queues = new Map<QueueName, Set<ClientSession>>();

  /** Appends a session, or moves it to the end. */
  add(session: ClientSession): void {
    session.queuedAt = session.lastSeenAt;
    for (const name of queuesOf(session)) {
      const queue = this.#queues.get(name) ?? new Set();
      queue.delete(session);
      this.#queues.set(name, queue.add(session));
    }
  }

  delete(session: ClientSession): void {
    session.queuedAt = undefined;
    for (const name of queuesOf(session)) {
      const queue = this.#queues.get(name);
      queue?.delete(session);
      if (queue?.size === 0) this.#queues.delete(name);
    }
  }

  /** Returns the longest unused session in a queue; undefined if every session is in use. */
  first(name: QueueName): ClientSession | undefined {
    for (const session of this.#queues.get(name) ?? []) {
      const { queuedAt, lastSeenAt, isInUse } = session;
      if (isInUse) this.delete(session);
      else if (queuedAt !== lastSeenAt) this.add(session);
      else return session;
    }
    return undefined;
  }
}

function queuesOf({ isStored, owner: { principal, client } }: ClientSession): readonly QueueName[] {
  return isStored ? ['stored', `principal ${principal}`, `client ${client}`] : ['unstored'];
}
