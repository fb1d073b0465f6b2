// The numbers of the servers, once a second while somebody watches: those that have changed since the last time.

import type { ManagedServer } from '../../actors/server/managed-server.ts';
import { serverStats } from '../http/records.ts';
import type { ServerNumbers } from './wire.ts';

export class ChangedNumbers {
  /** What each server looked like, in short. */
  #marks = new Map<string, string>();

  /** Numbers of servers that are new or not as they were; and the ids of those that have gone. */
  take(servers: readonly ManagedServer[]): { readonly servers: ServerNumbers[]; readonly gone: string[] } {
    const marks = new Map<string, string>();
    const changed: ServerNumbers[] = [];
    for (const server of servers) {
      const mark = markOf(server);
      marks.set(server.id, mark);
      // Percentiles are sorted out of a thousand latencies: not for a server that nobody has called meanwhile.
      if (this.#marks.get(server.id) !== mark) changed.push(numbersOf(server));
    }
    const gone = [...this.#marks.keys()].filter((id) => !marks.has(id));
    this.#marks = marks;
    return { servers: changed, gone };
  }

  /** The next take gives every server: somebody has seen numbers between two takes, and they may have gone back since. */
  forget(): void {
    for (const id of this.#marks.keys()) this.#marks.set(id, '');
  }
}

export function numbersOf(server: ManagedServer): ServerNumbers {
  return {
    id: server.id,
    ...serverStats(server),
    next_retry_at: server.nextRetryAt ?? null,
    is_parked: server.handle.isParked,
  };
}

function markOf({ state, handle, restarts, nextRetryAt }: ManagedServer): string {
  return `${state} ${handle.requests} ${handle.failed} ${handle.inFlight} ${handle.waiting} ${restarts} ${nextRetryAt} ${handle.isParked}`;
}
