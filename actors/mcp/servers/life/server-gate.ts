// Opens and shuts the gate of a server, and with it everything that runs while the gate is open: timers, connections for
// subscribers, notices of changed lists. The machine of the server decides when.
//
// SG1 (A1)   the gate is open exactly while the machine is in `running` or `idle`; the clocks tick just then, and until a drain.
// SG2 (A5)   after `kill` no connection and no probe is left.

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

/** What the managed server notes of its starts and ends. */
export interface ServerNotes {
  restarts: number;
  opened: StartTime | undefined;
  lastError: GatewayError | undefined;
  nextRetryAt: number | undefined;
}

export interface GateOptions {
  readonly id: string;
  readonly entry: ServerEntry;
  readonly log: Log;
  readonly eras: ServerEras;
  readonly handle: Handle;
  readonly pool: Pool;
  readonly usage: ConnectionUsage;
  readonly subscriberConnections: SubscriberConnections;
  readonly listNotices: ListNotices;
  readonly notes: ServerNotes;
  /** How long calls in flight may still take when the server is stopped, in milliseconds. */
  graceMs(): number;
  readonly life: ServerLife;
}

export class ServerGate {
  readonly #options: GateOptions;
  readonly #timers: ServerTimers;

  constructor(options: GateOptions) {
    const { id, entry, handle, pool, usage, life } = options;
    this.#options = options;
    this.#timers = new ServerTimers({
      server: id,
      entry,
      members: () => pool.members,
      isInUse: (member) => usage.isInUse(member),
      isBusy: () => usage.isBusy,
      lastUsedAt: () => handle.lastUsedAt,
      onSilent: (member, missed) => this.#onSilent(member, missed),
      onIdleMember: (member) => this.#onIdleMember(member),
      onQuiet: (span) => {
        handle.isIdle = span === 'half';
        life.report({ type: 'quiet', span });
      },
    });
    life.onState((state, before) => this.#onState(state, before));
  }

  open(): void {
    const { handle, notes } = this.#options;
    if (handle.isOpen) return;
    notes.opened = new StartTime();
    notes.nextRetryAt = undefined;
    handle.lastUsedAt = performance.now();
    this.#timers.start();
    handle.open();
  }

  close(): void {
    this.#options.notes.opened = undefined;
    this.#options.handle.close();
    this.#endClocks();
  }

  /** Lets the calls in flight end, then closes every connection. */
  async drain(): Promise<void> {
    this.#endClocks();
    await this.#options.pool.drain(this.#options.graceMs());
  }

  kill(): void {
    const { id, eras, pool, notes } = this.#options;
    // A machine that threw has closed nothing: an open gate would open connections that no machine knows of (A1).
    this.close();
    const recentStderr = notes.lastError ?? new StoppedError(`server ${id} was stopped`);
    pool.kill(new ConnectionLostError(recentStderr.message, { cause: recentStderr }));
    eras.kill();
  }

  /** Parked: calls before `until`, in epoch milliseconds, are refused at once. */
  refuse(until: number): void {
    const { eras, handle, notes } = this.#options;
    notes.nextRetryAt = until;
    eras.kill();
    handle.refuse(until, notes.lastError?.message ?? 'unknown reason');
  }

  #onState(state: ServerState, before: ServerState): void {
    const { id, handle, log, notes } = this.#options;
    log.info({ server: id, from: before, state }, 'server state');
    if (before !== 'failed') return;
    if (state === 'starting') notes.restarts += 1;
    // Whoever left `failed`, by hand or by its time, is parked no more.
    handle.breaker.close();
  }

  #endClocks(): void {
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

  #onSilent(member: PoolMember, missed: number): void {
    const { id, notes } = this.#options;
    const error = new ConnectionLostError(
      `server ${id} did not answer ${missed} health pings in a row and was ended`,
    );
    notes.lastError = error;
    member.connection.kill(error);
  }
}
