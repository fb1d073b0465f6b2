// Handles events of a server's connections (pool members): handshake done, open, failed to open, lost, and a
// call rejected because of missing headers. The state machine decides if the server itself has failed; then
// only queued calls fail with it (A6, ARCHITECTURE.md).

import type { ServerEntry } from '../../../../config/catalog/catalog-schema.ts';
import { type GatewayError, UpstreamProtocolError } from '../../../base/errors/errors.ts';
import type { Log } from '../../../base/errors/log.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';
import type { ServerCache } from '../cache/cache.ts';
import type { Call } from '../calls/call.ts';
import type { ServerEras } from '../eras/eras.ts';
import type { Handle } from '../handle.ts';
import type { ServerStatus } from '../life/server-gate.ts';
import type { ServerLife } from '../life/server-life.ts';
import { classKey } from '../lists/listing-capabilities.ts';
import type { UpstreamSubscriptions } from '../notifications/upstream-subscriptions.ts';
import type { ConnectionUsage } from './connection-usage.ts';
import type { Pool } from './pool.ts';
import type { PoolMember } from './pool-member.ts';
import { SubscriberConnections } from './subscriber-connections.ts';

export interface ConnectionObserverOptions {
  readonly id: string;
  readonly entry: ServerEntry;
  readonly log: Log;
  readonly cache: ServerCache;
  readonly eras: ServerEras;
  readonly handle: Handle;
  readonly pool: Pool;
  readonly usage: ConnectionUsage;
  readonly upstreamSubscriptions: UpstreamSubscriptions;
  readonly status: Pick<ServerStatus, 'lastError'>;
  readonly life: Pick<ServerLife, 'report'>;
}

export class ConnectionObserver {
  /** Keeps shared connections open for subscribers without a private one. */
  readonly subscriberConnections: SubscriberConnections;
  readonly #options: ConnectionObserverOptions;
  /** Fetch of the tool list, shared by concurrent calls rejected because of their headers. */
  #relisting: Promise<void> | undefined;

  constructor(options: ConnectionObserverOptions) {
    const { handle, pool, usage } = options;
    this.#options = options;
    this.subscriberConnections = new SubscriberConnections({
      isMissing: (era) => handle.isOpen && usage.lacksConnection(era),
      open: (era) => pool.pick(undefined, era),
      onUnavailable: (era, error) => this.#onUnavailable(era, error),
    });
  }

  /** Fetches the lists if necessary and repeats the subscriptions, within the rest of the start timeout. */
  async onHandshake(member: PoolMember, remainingMs: number): Promise<void> {
    const { entry, eras, handle, cache, upstreamSubscriptions } = this.#options;
    const { connection } = member;
    const isPrivate = entry.isolation === 'session' && member.era === 'legacy';
    // Clients with equal capabilities form a class, and see equal lists.
    const key = classKey(connection.offered);
    eras.confirm(member.era);
    // While the gate is closed (the server accepts no calls yet), this is the first connection of a start.
    // All lists are refetched.
    if (!handle.isOpen) cache.own.expire();
    if (!handle.isOpen || !cache.wasFetched || cache.mayLearnMoreFrom(connection))
      await cache.learn(connection, remainingMs, isPrivate);
    else if (isPrivate && !cache.own.isFresh(key))
      await cache.learnClass(key, { connection, timeoutMs: remainingMs });
    await upstreamSubscriptions.replay(member, remainingMs);
  }

  onOpen(): void {
    const { handle, life } = this.#options;
    if (handle.isOpen) handle.drain();
    else life.report({ type: 'pool.ready' });
    this.subscriberConnections.ensureOpen();
  }

  onOpenFailed({ owner, era }: PoolMember, error: GatewayError): void {
    const { id, entry, eras, handle, log, status, pool } = this.#options;
    status.lastError = error;
    // While another connection works, only a protocol error shows that the known protocol eras are wrong.
    if (!handle.isOpen || error.cause instanceof UpstreamProtocolError) eras.forget();
    if (!handle.isOpen) return;
    log.warn({ server: id, ...reason(error) }, 'could not open another connection');
    this.subscriberConnections.onLost(0);
    if (entry.isolation === 'session')
      handle.failWaiting((call) => call.era === era && pool.ownerOf(call.owner, era) === owner, error);
    else if (pool.members.size > 0) handle.drain();
  }

  onMemberEnded(member: PoolMember, error: GatewayError): void {
    const { id, entry, handle, log, status, pool, upstreamSubscriptions } = this.#options;
    status.lastError = error;
    // The owner of a private connection is a client session. Its label identifies it in logs.
    const fields = { server: id, session: member.owner?.label, ...reason(error) };
    log.warn(fields, 'connection ended unexpectedly');
    // With its last shared connection the server itself is lost. The supervisor then decides about queued
    // calls.
    const isLost = entry.isolation === 'shared' && pool.members.size === 0;
    if (!handle.isOpen || isLost) return;
    handle.drain();
    upstreamSubscriptions.onLost(member);
    this.subscriberConnections.onLost(performance.now() - member.openedAt);
  }

  /** Called when the machine enters `failed`. */
  onFailure(error: GatewayError): void {
    const { id, handle, log, status } = this.#options;
    status.lastError = error;
    handle.recordFailure(error);
    log.warn({ server: id, ...reason(error) }, 'server failed');
  }

  /**
   * Refetches the tool list and retries a call that was rejected, unexecuted, because the tool's schema
   * has changed.
   */
  onHeaderMismatch({ connection }: PoolMember, call: Call): void {
    const { entry, handle, cache } = this.#options;
    const timeoutMs = entry.request_timeout_seconds * 1000;
    this.#relisting ??= cache.refresh(connection, ['tools'], timeoutMs).then(() => {
      this.#relisting = undefined;
    });
    void this.#relisting.then(() => {
      if (!call.isDone) handle.retry(call);
    });
  }

  #onUnavailable(era: Era, error: GatewayError): void {
    const { id, usage, upstreamSubscriptions } = this.#options;
    for (const owner of upstreamSubscriptions.subscriptions.owners())
      if (usage.usesSharedConnection(owner, era)) owner.onConnectionEnd(id, 'crashed', error);
  }
}

function reason(error: unknown): { code: string | undefined; reason: string } {
  const { code, message } = error as { code?: string; message?: string };
  return { code, reason: message ?? String(error) };
}
