// Pings the open connections of a server and ends those that stay silent. A connection that was heard of since the
// last round is alive already; any answer to a ping counts, an error too. Pings are not use: they keep no server
// from becoming idle.
//
// HE1  a connection has one ping under way at most: pings that are missed in a row are missed one after the other.

import type { PoolMember } from '../pool/pool-member.ts';

export interface HealthOptions {
  readonly server: string;
  /** 0 = no health checks. */
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Missed pings in a row that end a connection. */
  readonly failures: number;
  readonly members: () => Iterable<PoolMember>;
  readonly onSilent: (member: PoolMember, missed: number) => void;
}

export class Health {
  readonly #options: HealthOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#options.intervalMs === 0) return;
    this.#timer ??= setInterval(() => this.#round(), this.#options.intervalMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #round(): void {
    const heardSince = performance.now() - this.#options.intervalMs;
    for (const member of this.#options.members()) {
      if (!member.isOpen || member.isPinged) continue;
      if (member.connection.lastHeardAt > heardSince) member.missedPings = 0;
      else void this.#ping(member);
    }
  }

  async #ping(member: PoolMember): Promise<void> {
    const { timeoutMs, failures, onSilent } = this.#options;
    const { connection } = member;
    member.isPinged = true;
    try {
      await connection.ping(timeoutMs);
      member.missedPings = 0;
    } catch {
      if (connection.isEnded || member.isClosing) return;
      member.missedPings += 1;
      if (member.missedPings >= failures) onSilent(member, member.missedPings);
    } finally {
      member.isPinged = false;
    }
  }
}
