// Opens and closes a server's gate: calls are sent only while the gate is open. The gate is open exactly in
// the states `running` and `idle` of the state machine (A1, ARCHITECTURE.md). The timers, the connections for
// subscribers and the notifications of changed lists stop with the gate, or earlier when a drain (completion
// of the running calls) begins. After `kill` all connections and probes (temporary connections that detect
// the protocol) are closed (A5).

import type { ServerEntry } from '../../../../config/catalog/catalog-schema.ts';
import type { ServerState } from '../../../../machines/server.ts';
import { ConnectionLostError, type GatewayError, StoppedError } from '../../../base/errors/errors.ts';
import type { Log } from '../../../base/errors/log.ts';
import { StartTime } from '../../../base/time/start-time.ts';
import type { ServerEras } from '../eras/eras.ts';
import type { Handle } from '../handle.ts';
import type { ListNotices } from '../lists/list-notices.ts';
import type { ConnectionUsage } from '../pool/connection-usage.ts';
import type { Pool } from '../pool/pool.ts';
import type { PoolMember } from '../pool/pool-member.ts';
import type { SubscriberConnections } from '../pool/subscriber-connections.ts';
import type { ServerLife } from './server-life.ts';
import { ServerTimers } from './server-timers.ts';

/** Server status for display, updated at starts, failures and stops. */
export interface ServerStatus {
  restarts: number;
  opened: StartTime | undefined;
  lastError: GatewayError | undefined;
  nextRetryAt: number | undefined;
}

export interface ServerGateOptions {
  readonly id: string;
  readonly entry: ServerEntry;
  readonly log: Log;
  readonly eras: ServerEras;
  readonly handle: Handle;
  readonly pool: Pool;
  readonly usage: ConnectionUsage;
  readonly subscriberConnections: SubscriberConnections;
  readonly listNotices: ListNotices;
  readonly status: ServerStatus;
  /** Returns the grace period for calls in flight when the server stops, in milliseconds. */
  graceMs(): number;
  readonly life: ServerLife;
}

export class ServerGate {
  readonly #options: ServerGateOptions;
  readonly #timers: ServerTimers;

  constructor(options: ServerGateOptions) {
    const { id, entry, handle, pool, usage, life } = options;
    this.#options = options;
    this.#timers = new ServerTimers({
      server: id,
      entry,
      members: () => pool.members,
      isInUse: (member) => usage.isInUse(member),
      isBusy: () => usage.isBusy,
      lastUsedAt: () => handle.lastUsedAt,
      onSilent: (member, missedPings) => this.#onSilent(member, missedPings),
      onIdleMember: (member) => this.#onIdleMember(member),
      onQuiet: (span) => {
        // After half of the idle timeout the machine enters `idle`, and the next call must notify it.
        handle.isIdle = span === 'half';
        life.report({ type: 'quiet', span });
      },
    });
    life.onState((state, before) => this.#onState(state, before));
  }

  open(): void {
    const { handle, status } = this.#options;
    if (handle.isOpen) return;
    status.opened = new StartTime();
    status.nextRetryAt = undefined;
    handle.lastUsedAt = performance.now();
    this.#timers.start();
    handle.open();
  }

  close(): void {
    this.#options.status.opened = undefined;
    this.#options.handle.close();
    this.#stopTimers();
  }

  /** Lets calls in flight complete, then closes all connections. */
  async drain(): Promise<void> {
    this.#stopTimers();
    await this.#options.pool.drain(this.#options.graceMs());
  }

  /** Closes the gate and kills all connections and probes. */
  kill(): void {
    const { id, eras, pool, status } = this.#options;
    // If the machine threw an error, the gate is still open and would open connections without supervision
    // (A1).
    this.close();
    const cause = status.lastError ?? new StoppedError(`server ${id} was stopped`);
    pool.kill(new ConnectionLostError(cause.message, { cause }));
    eras.kill();
  }

  /** Parks the server: calls are rejected until `until` (epoch milliseconds). */
  refuse(until: number): void {
    const { eras, handle, status } = this.#options;
    status.nextRetryAt = until;
    eras.kill();
    handle.park(until, status.lastError?.message ?? 'unknown reason');
  }

  #onState(state: ServerState, before: ServerState): void {
    const { id, handle, log, status } = this.#options;
    log.info({ server: id, from: before, state }, 'server state');
    if (before !== 'failed') return;
    if (state === 'starting') status.restarts += 1;
    // A server that leaves `failed` is no longer parked.
    handle.breaker.close();
  }

  #stopTimers(): void {
    this.#options.subscriberConnections.stop();
    this.#timers.stop();
    this.#options.listNotices.stop();
  }

  #onIdleMember(member: PoolMember): void {
    const { id, entry, pool } = this.#options;
    const seconds = entry.idle_timeout_seconds;
    const error = new StoppedError(
      `the connection to server ${id} was not used for ${seconds} s and has ended`,
    );
    void pool.close(member, error, 'idle');
  }

  #onSilent(member: PoolMember, missedPings: number): void {
    const { id, status } = this.#options;
    const error = new ConnectionLostError(
      `server ${id} did not answer ${missedPings} health pings in a row and was ended`,
    );
    status.lastError = error;
    member.connection.kill(error);
  }
}
