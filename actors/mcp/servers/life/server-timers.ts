// Timers that run while the server accepts calls (server-gate.ts): health pings, idleness of the server, and
// idleness of the connections of sessions.

import type { ServerEntry } from '../../../../config/catalog/catalog-schema.ts';
import { IdleMembers } from '../pool/idle-members.ts';
import type { PoolMember } from '../pool/pool-member.ts';
import { Health } from './health.ts';
import { IdleTimer } from './idle-timer.ts';

export interface ServerTimersOptions {
  readonly server: string;
  readonly entry: ServerEntry;
  readonly members: () => Iterable<PoolMember>;
  /** Returns true if a connection must stay open without calls. */
  readonly isInUse: (member: PoolMember) => boolean;
  readonly isBusy: () => boolean;
  /** performance.now() of the last call. */
  readonly lastUsedAt: () => number;
  readonly onSilent: (member: PoolMember, missedPings: number) => void;
  readonly onIdleMember: (member: PoolMember) => void;
  readonly onQuiet: (span: 'half' | 'whole') => void;
}

export class ServerTimers {
  readonly #timers: readonly { start(): void; stop(): void }[];

  constructor({ server, entry, members, ...options }: ServerTimersOptions) {
    const idleTimeoutMs = entry.idle_timeout_seconds * 1000;
    this.#timers = [
      new Health({
        server,
        intervalMs: entry.health.interval_seconds * 1000,
        timeoutMs: entry.health.timeout_seconds * 1000,
        failures: entry.health.failures,
        members,
        onSilent: options.onSilent,
      }),
      new IdleTimer({ idleTimeoutMs, ...options }),
      new IdleMembers({
        // A shared connection closes only when the idle server stops.
        idleTimeoutMs: entry.isolation === 'session' ? idleTimeoutMs : 0,
        members,
        isBusy: options.isInUse,
        onIdle: options.onIdleMember,
      }),
    ];
  }

  start(): void {
    for (const timer of this.#timers) timer.start();
  }

  stop(): void {
    for (const timer of this.#timers) timer.stop();
  }
}
