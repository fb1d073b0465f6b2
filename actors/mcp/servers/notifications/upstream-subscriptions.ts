// Passes log levels and subscriptions of clients on to the server. A shared server is told the lowest level, and of a
// resource once; a new connection is told everything again. A modern server has no log levels to set, and one listen per
// connection serves all subscriptions.

import type { Envelope } from '../../jsonrpc/envelope.ts';
import type { ServerCache } from '../cache/server-cache.ts';
import type { CallOwner } from '../calls/call-owner.ts';
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
  readonly usage: Pick<ConnectionUsage, 'isAt'>;
  /** Those of a predecessor, or none yet. */
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

  /** Notes the log level a session asks for, and tells whoever of the server is awake. */
  setLevel(owner: CallOwner, level: LogLevel): void {
    const before = this.subscriptions.lowestLevel;
    this.subscriptions.setLevel(owner, level);
    if (this.#options.isShared) {
      this.#tellLevel(before);
      return;
    }
    const member = this.#options.pool.memberOf(owner);
    if (member?.isOpen === true && this.#isLogging) this.#tell(member, 'logging/setLevel', { level });
  }

  /** A client is over. */
  release(owner: CallOwner): void {
    const before = this.subscriptions.lowestLevel;
    const wasSubscribed = this.subscriptions.has(owner);
    const orphaned = this.subscriptions.release(owner);
    if (wasSubscribed) this.#listenAnew();
    if (!this.#options.isShared) return;
    for (const uri of orphaned) this.#tellAll('resources/unsubscribe', { uri });
    this.#tellLevel(before);
  }

  /** Makes a modern server's connections tell of what is subscribed by now; resolves with what this one agreed to. */
  listen(member: PoolMember): Promise<ReadonlySet<string>> {
    const agreed = this.#sync(member);
    this.#listenAnew();
    return agreed;
  }

  #sync(member: PoolMember): Promise<ReadonlySet<string>> {
    let listen = this.#listens.get(member);
    // A remote session that was renewed in place has another connection by now.
    if (listen === undefined || listen.connection !== member.connection) {
      listen = new UpstreamListen(member.connection);
      this.#listens.set(member, listen);
    }
    return listen.sync(this.subscriptions.uris((owner) => this.#options.usage.isAt(owner, member)));
  }

  /** Takes what concerns a listen of our own; false for any other notification. */
  take(member: PoolMember, envelope: Envelope): boolean {
    return this.#listens.get(member)?.take(envelope) === true;
  }

  /** Somebody has unsubscribed; of `orphaned` nobody wants updates any more. */
  unsubscribed(orphaned: readonly string[]): void {
    this.#listenAnew();
    for (const uri of orphaned) this.#tellAll('resources/unsubscribe', { uri });
  }

  /** A shared connection is gone: those that are left may not have been told what it was. */
  lost({ owner, era }: PoolMember): void {
    if (owner !== undefined || era === 'modern') return;
    for (const member of this.#options.pool.members) {
      if (!member.isOpen || member.era !== era || member.owner !== undefined) continue;
      for (const uri of this.subscriptions.uris((one) => this.#options.usage.isAt(one, member)))
        this.#tell(member, 'resources/subscribe', { uri });
    }
  }

  /** Asks a new connection for what was asked of earlier ones; a server that refuses is heard without it. */
  async replay(member: PoolMember, leftMs: number): Promise<void> {
    const { connection } = member;
    const timeoutMs = Math.min(leftMs, REPLAY_TIMEOUT_MS);
    if (member.era === 'modern') {
      await Promise.race([this.#sync(member), after(timeoutMs)]);
      return;
    }
    const isHere = (owner: CallOwner) => this.#options.usage.isAt(owner, member);
    const replayed = this.subscriptions
      .uris(isHere)
      .map((uri) => connection.request('resources/subscribe', { uri }, timeoutMs));
    const level = this.#options.isShared
      ? this.subscriptions.lowestLevel
      : member.owner && this.subscriptions.levelOf(member.owner);
    if (level !== undefined && this.#isLogging)
      replayed.push(connection.request('logging/setLevel', { level }, timeoutMs));
    await Promise.allSettled(replayed);
  }

  get #isLogging(): boolean {
    return this.#options.cache.description?.capabilities.logging !== undefined;
  }

  /** In a moment, and once for all that changes until then: thousands of clients may leave at once. */
  #listenAnew(): void {
    this.#renewal ??= setImmediate(() => {
      this.#renewal = undefined;
      // One that is still being opened may be listening already; one that is not yet begins with what is wanted then.
      for (const member of this.#options.pool.members)
        if (this.#listens.get(member)?.connection === member.connection) void this.#sync(member);
    });
  }

  /** The lowest level when that has changed; when nobody has a wish any more the server stays as it is. */
  #tellLevel(before: LogLevel | undefined): void {
    const level = this.subscriptions.lowestLevel;
    if (level !== undefined && level !== before && this.#isLogging)
      this.#tellAll('logging/setLevel', { level });
  }

  #tellAll(method: string, params: Record<string, unknown>): void {
    for (const member of this.#options.pool.members) {
      if (member.isOpen && member.era === 'legacy' && member.owner === undefined)
        this.#tell(member, method, params);
    }
  }

  /** Whether the server agrees changes nothing. */
  #tell(member: PoolMember, method: string, params: Record<string, unknown>): void {
    if (member.era === 'modern') return;
    member.connection.request(method, params, REPLAY_TIMEOUT_MS).catch(() => {});
  }
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
