// Handles list_changed notifications of servers: waits briefly to combine several, fetches the changed lists,
// then notifies each client once. A change in a private process (`isolation: session`; `owner` is its client
// session) concerns this client only. Notifications that arrive during a fetch are handled after it (A8,
// ARCHITECTURE.md). A connection that does not respond does not delay notifications of other connections
// (A6).

import type { Envelope } from '../../jsonrpc/envelope.ts';
import type { ServerCache } from '../cache/cache.ts';
import type { PoolMember } from '../pool/pool-member.ts';
import { everyListKind, type ListKind, listKinds } from './lists.ts';

const COALESCE_MS = 50;

export interface ListNoticesOptions {
  readonly cache: ServerCache;
  readonly timeoutMs: number;
  readonly isShared: boolean;
  /**
   * Notifies the clients at /mcp/:id. Clients of merged addresses are notified when the cache changes.
   */
  announce(kinds: readonly ListKind[]): void;
}

export class ListNotices {
  readonly #options: ListNoticesOptions;
  /** Pending notifications by connection and method. */
  readonly #due = new Map<PoolMember, Map<string, Envelope>>();
  /** Connections with a fetch in progress. */
  readonly #fetching = new Set<PoolMember>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ListNoticesOptions) {
    this.#options = options;
  }

  /** Handles the notification if it is list_changed; otherwise returns false. */
  tryHandle(member: PoolMember, envelope: Envelope): boolean {
    if (!everyListKind.some((kind) => listKinds[kind].changed === envelope.method)) return false;
    const notices = this.#due.get(member) ?? new Map<string, Envelope>();
    this.#due.set(member, notices.set(envelope.method, envelope));
    this.#timer ??= setTimeout(() => this.#fetchDue(), COALESCE_MS);
    return true;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#due.clear();
  }

  #fetchDue(): void {
    this.#timer = undefined;
    for (const [member, notices] of [...this.#due]) {
      if (this.#fetching.has(member)) continue;
      this.#due.delete(member);
      this.#fetching.add(member);
      void this.#fetch(member, notices).finally(() => {
        this.#fetching.delete(member);
        if (this.#due.has(member)) this.#timer ??= setTimeout(() => this.#fetchDue(), COALESCE_MS);
      });
    }
  }

  async #fetch(member: PoolMember, notices: ReadonlyMap<string, Envelope>): Promise<void> {
    const { cache, timeoutMs, isShared, announce } = this.#options;
    const changedKinds = everyListKind.filter((kind) => notices.has(listKinds[kind].changed));
    const { owner, connection } = member;
    if (owner === undefined) {
      if (member.isOpen) await cache.refresh(connection, changedKinds, timeoutMs);
      if (isShared) announce(changedKinds);
      return;
    }
    // The change concerns this process, which only its client uses.
    if (member.isOpen) await cache.refreshOwn(member, changedKinds, timeoutMs);
    for (const envelope of notices.values()) owner.onServerNotification(connection, envelope, undefined);
  }
}
