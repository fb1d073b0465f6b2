// Debounces the notices of changed lists: many within a moment become one, the lists are fetched before anybody hears of
// them, and every client hears once. A notice that comes while the lists are fetched waits for the end of that fetch
// (A8).
//
// One connection that does not answer delays nobody else's notice (A6).

import type { Envelope } from '../../jsonrpc/envelope.ts';
import type { ServerCache } from '../cache/server-cache.ts';
import type { PoolMember } from '../pool/pool-member.ts';
import { everyListKind, type ListKind, listKinds } from './lists.ts';

const COALESCE_MS = 50;

export interface ListNoticesOptions {
  readonly cache: ServerCache;
  readonly timeoutMs: number;
  readonly isShared: boolean;
  /** Tells every client that sees the server alone; the others hear when what is known of it is other than before. */
  announce(kinds: readonly ListKind[]): void;
}

export class ListNotices {
  readonly #options: ListNoticesOptions;
  /** Not acted on yet, by connection and method. */
  readonly #due = new Map<PoolMember, Map<string, Envelope>>();
  /** Connections whose lists are being fetched. */
  readonly #asked = new Set<PoolMember>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ListNoticesOptions) {
    this.#options = options;
  }

  /** Takes the notification if it is about a list; false for any other. */
  take(member: PoolMember, envelope: Envelope): boolean {
    if (!everyListKind.some((kind) => listKinds[kind].changed === envelope.method)) return false;
    const notices = this.#due.get(member) ?? new Map<string, Envelope>();
    this.#due.set(member, notices.set(envelope.method, envelope));
    this.#timer ??= setTimeout(() => this.#act(), COALESCE_MS);
    return true;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#due.clear();
  }

  #act(): void {
    this.#timer = undefined;
    for (const [member, notices] of [...this.#due]) {
      if (this.#asked.has(member)) continue;
      this.#due.delete(member);
      this.#asked.add(member);
      void this.#fetch(member, notices).finally(() => {
        this.#asked.delete(member);
        if (this.#due.has(member)) this.#timer ??= setTimeout(() => this.#act(), COALESCE_MS);
      });
    }
  }

  async #fetch(member: PoolMember, notices: ReadonlyMap<string, Envelope>): Promise<void> {
    const { cache, timeoutMs, isShared, announce } = this.#options;
    const due = everyListKind.filter((kind) => notices.has(listKinds[kind].changed));
    const changed = member.isOpen ? await cache.refresh(member.connection, due, timeoutMs) : [];
    if (isShared) {
      announce(due);
      return;
    }
    const { owner, connection } = member;
    // Who sees many servers is shown what is known of them, and hears when that has changed.
    if (owner?.belongsTo(connection.server) !== true) return;
    // All have been told of what is new to the gateway; of the rest only the session hears whose connection it is.
    const told = new Set(changed.map((kind) => listKinds[kind].changed));
    for (const [method, envelope] of notices)
      if (!told.has(method)) owner.onServerNotification(connection, envelope, undefined);
  }
}
