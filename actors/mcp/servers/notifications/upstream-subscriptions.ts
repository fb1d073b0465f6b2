// Forwards log levels and resource subscriptions of clients to the server. A shared server receives the
// lowest level and one subscription per resource. Every new connection (pool member) receives the level and
// the subscriptions again. A modern server (2026-07-28) has no log level; one `subscriptions/listen` request
// per connection (a "listen", upstream-listen.ts) covers all subscriptions.

import { within } from '../../../base/time/within.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import type { ServerCache } from '../cache/cache.ts';
import type { CallOwner } from '../calls/owner.ts';
import type { ConnectionUsage } from '../pool/connection-usage.ts';
import type { Pool } from '../pool/pool.ts';
import type { PoolMember } from '../pool/pool-member.ts';
import type { LogLevel, Subscriptions } from './subscriptions.ts';
import { UpstreamListen } from './upstream-listen.ts';

const REPLAY_TIMEOUT_MS = 5000;

export interface UpstreamSubscriptionsOptions {
  readonly isShared: boolean;
  readonly cache: ServerCache;
  readonly pool: Pool;
  readonly usage: Pick<ConnectionUsage, 'isServedBy'>;
  /** Subscriptions of the replaced server (same id), or an empty set. */
  readonly subscriptions: Subscriptions;
}

export class UpstreamSubscriptions {
  readonly subscriptions: Subscriptions;
  readonly #options: UpstreamSubscriptionsOptions;
  readonly #listens = new WeakMap<PoolMember, UpstreamListen>();
  #renewal: NodeJS.Immediate | undefined;

  constructor(options: UpstreamSubscriptionsOptions) {
    this.#options = options;
    this.subscriptions = options.subscriptions;
  }

  /** Sets a session's log level, also on open connections. */
  setLevel(owner: CallOwner, level: LogLevel): void {
    const before = this.subscriptions.lowestLevel;
    this.subscriptions.setLevel(owner, level);
    if (this.#options.isShared) {
      this.#sendLevel(before);
      return;
    }
    const member = this.#options.pool.memberOf(owner);
    if (member?.isOpen === true && this.#isLogging) this.#send(member, 'logging/setLevel', { level });
  }

  /** Removes a client. */
  release(owner: CallOwner): void {
    const before = this.subscriptions.lowestLevel;
    const wasSubscribed = this.subscriptions.has(owner);
    const orphaned = this.subscriptions.release(owner);
    if (wasSubscribed) this.#renewListens();
    if (!this.#options.isShared) return;
    for (const uri of orphaned) this.#sendToAll('resources/unsubscribe', { uri });
    this.#sendLevel(before);
  }

  /**
   * Updates the listens on all modern connections. Resolves with the resources acknowledged on this
   * connection.
   */
  listen(member: PoolMember): Promise<ReadonlySet<string>> {
    const acknowledged = this.#sync(member);
    this.#renewListens();
    return acknowledged;
  }

  #sync(member: PoolMember): Promise<ReadonlySet<string>> {
    let listen = this.#listens.get(member);
    // After a lost remote session, the pool member has another connection.
    if (listen === undefined || listen.connection !== member.connection) {
      listen = new UpstreamListen(member.connection);
      this.#listens.set(member, listen);
    }
    return listen.sync(this.subscriptions.uris((owner) => this.#options.usage.isServedBy(owner, member)));
  }

  /** Handles a notification about the gateway's own listens; otherwise returns false. */
  tryHandle(member: PoolMember, envelope: Envelope): boolean {
    return this.#listens.get(member)?.tryHandle(envelope) === true;
  }

  /** Unsubscribes from resources that have no subscriber left. */
  unsubscribe(orphaned: readonly string[]): void {
    this.#renewListens();
    for (const uri of orphaned) this.#sendToAll('resources/unsubscribe', { uri });
  }

  /** Called when a shared connection was lost: repeats the subscriptions on the remaining ones. */
  onLost({ owner, era }: PoolMember): void {
    if (owner !== undefined || era === 'modern') return;
    for (const member of this.#options.pool.members) {
      if (!member.isOpen || member.era !== era || member.owner !== undefined) continue;
      for (const uri of this.subscriptions.uris((one) => this.#options.usage.isServedBy(one, member)))
        this.#send(member, 'resources/subscribe', { uri });
    }
  }

  /** Repeats subscriptions and log level on a new connection. Rejections by the server are ignored. */
  async replay(member: PoolMember, remainingMs: number): Promise<void> {
    const { connection } = member;
    const timeoutMs = Math.min(remainingMs, REPLAY_TIMEOUT_MS);
    if (member.era === 'modern') {
      await within(timeoutMs, this.#sync(member));
      return;
    }
    const isServed = (owner: CallOwner) => this.#options.usage.isServedBy(owner, member);
    const requests = this.subscriptions
      .uris(isServed)
      .map((uri) => connection.request('resources/subscribe', { uri }, timeoutMs));
    const level = this.#options.isShared
      ? this.subscriptions.lowestLevel
      : member.owner && this.subscriptions.levelOf(member.owner);
    if (level !== undefined && this.#isLogging)
      requests.push(connection.request('logging/setLevel', { level }, timeoutMs));
    await Promise.allSettled(requests);
  }

  get #isLogging(): boolean {
    return this.#options.cache.description?.capabilities.logging !== undefined;
  }

  /**
   * Updates the listens once for all changes in this tick, because thousands of clients may disconnect
   * together.
   */
  #renewListens(): void {
    this.#renewal ??= setImmediate(() => {
      this.#renewal = undefined;
      // Connections that are being opened are included if they already listen. Others listen when they open.
      for (const member of this.#options.pool.members)
        if (this.#listens.get(member)?.connection === member.connection) void this.#sync(member);
    });
  }

  /**
   * Sends the lowest level if it has changed. When no client has a level any more, the server keeps the last
   * one.
   */
  #sendLevel(before: LogLevel | undefined): void {
    const level = this.subscriptions.lowestLevel;
    if (level !== undefined && level !== before && this.#isLogging)
      this.#sendToAll('logging/setLevel', { level });
  }

  #sendToAll(method: string, params: Record<string, unknown>): void {
    for (const member of this.#options.pool.members) {
      if (member.isOpen && member.era === 'legacy' && member.owner === undefined)
        this.#send(member, method, params);
    }
  }

  /** Sends a request and ignores the outcome. */
  #send(member: PoolMember, method: string, params: Record<string, unknown>): void {
    if (member.era === 'modern') return;
    member.connection.request(method, params, REPLAY_TIMEOUT_MS).catch(() => {});
  }
}
