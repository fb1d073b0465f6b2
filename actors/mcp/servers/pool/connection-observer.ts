// Reacts to the events of a server's connections: introduced, open, could not be opened, lost, or a call refused for its
// headers. Whether the server itself has failed by that is decided by its machine.
//
// However many calls are refused for their headers at once, the list of tools is fetched once for all of them.
//
// OB1  who waits for a connection that cannot be had is told, and nobody else is (A6).

import type { ServerEntry } from '../../../../config/catalog/catalog-schema.ts';
import { type GatewayError, UpstreamProtocolError } from '../../../base/errors/errors.ts';
import type { Log } from '../../../base/errors/log.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';
import type { ServerCache } from '../cache/server-cache.ts';
import type { Call } from '../calls/call.ts';
import type { ServerEras } from '../eras/eras.ts';
import type { Handle } from '../handle.ts';
import type { ServerNotes } from '../life/server-gate.ts';
import type { ServerLife } from '../life/server-life.ts';
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
  readonly notes: Pick<ServerNotes, 'lastError'>;
  readonly life: Pick<ServerLife, 'report'>;
}

export class ConnectionObserver {
  /** Sees to it that whoever listens on a common connection has one. */
  readonly subscriberConnections: SubscriberConnections;
  readonly #options: ConnectionObserverOptions;
  #relisting: Promise<void> | undefined;

  constructor(options: ConnectionObserverOptions) {
    const { handle, pool, usage } = options;
    this.#options = options;
    this.subscriberConnections = new SubscriberConnections({
      isMissing: (era) => handle.isOpen && usage.isUnheard(era),
      open: (era) => pool.pick(undefined, era),
      onDeaf: (era, error) => this.#onDeaf(era, error),
    });
  }

  /** Learns what the server has, and says again what clients wish of it, within what is left of the start's time. */
  async onHandshake(member: PoolMember, leftMs: number): Promise<void> {
    const { eras, handle, cache, upstreamSubscriptions } = this.#options;
    const { connection } = member;
    eras.confirm(member.era);
    if (!handle.isOpen || !cache.wasAsked || cache.mayLearnMoreFrom(connection))
      await cache.learn(connection, leftMs);
    await upstreamSubscriptions.replay(member, leftMs);
  }

  onOpen(): void {
    const { handle, life } = this.#options;
    if (handle.isOpen) handle.drain();
    else life.report({ type: 'pool.ready' });
    this.subscriberConnections.tend();
  }

  onOpenFailed({ owner, era }: PoolMember, error: GatewayError): void {
    const { id, entry, eras, handle, log, notes, pool } = this.#options;
    notes.lastError = error;
    // While others work, only an answer in another era's words tells against the verdict.
    if (!handle.isOpen || error.cause instanceof UpstreamProtocolError) eras.forget();
    if (!handle.isOpen) return;
    log.warn({ server: id, ...reason(error) }, 'a further connection could not be opened');
    this.subscriberConnections.lost(0);
    if (entry.isolation === 'session')
      handle.failWaiting((call) => call.era === era && pool.placeOf(call.owner, era) === owner, error);
    else if (pool.members.size > 0) handle.drain();
  }

  onMemberEnded(member: PoolMember, error: GatewayError): void {
    const { id, entry, handle, log, notes, pool, upstreamSubscriptions } = this.#options;
    notes.lastError = error;
    const fields = { server: id, session: member.owner?.label, ...reason(error) };
    log.warn(fields, 'a connection ended by itself');
    // The last shared connection is the server itself: whoever waits, waits for the supervisor's verdict.
    const isLost = entry.isolation === 'shared' && pool.members.size === 0;
    if (!handle.isOpen || isLost) return;
    handle.drain();
    upstreamSubscriptions.lost(member);
    this.subscriberConnections.lost(performance.now() - member.openedAt);
  }

  /** The machine has entered `failed`. */
  onFailure(error: GatewayError): void {
    const { id, handle, log, notes } = this.#options;
    notes.lastError = error;
    handle.fail(error);
    log.warn({ server: id, ...reason(error) }, 'server failed');
  }

  /** The tool asks for other headers than it did; a call that was refused for that was not carried out. */
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

  #onDeaf(era: Era, error: GatewayError): void {
    const { id, usage, upstreamSubscriptions } = this.#options;
    for (const owner of upstreamSubscriptions.subscriptions.owners())
      if (usage.hearsInCommon(owner, era)) owner.onConnectionEnd(id, 'crashed', error);
  }
}

function reason(error: unknown): { code: string | undefined; reason: string } {
  const { code, message } = error as { code?: string; message?: string };
  return { code, reason: message ?? String(error) };
}
