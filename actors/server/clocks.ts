// The three clocks of a server whose gate is open: health pings, idleness of the server, idleness of single sessions'
// connections. They run together and stop together.

import type { ServerEntry } from '../../config/catalog-schema.ts';
import { Health } from './health.ts';
import { IdleMembers } from './idle-members.ts';
import type { Member } from './member.ts';
import { QuietClock } from './quiet-clock.ts';

export interface ClocksOptions {
  readonly server: string;
  readonly entry: ServerEntry;
  readonly members: () => Iterable<Member>;
  /** A connection that must not end for want of calls. */
  readonly isInUse: (member: Member) => boolean;
  readonly isBusy: () => boolean;
  /** performance.now() of the last call. */
  readonly lastUsedAt: () => number;
  readonly onSilent: (member: Member, missed: number) => void;
  readonly onIdleMember: (member: Member) => void;
  readonly onQuiet: (span: 'half' | 'whole') => void;
}

export class Clocks {
  readonly #clocks: readonly { start(): void; stop(): void }[];

  constructor({ server, entry, members, ...options }: ClocksOptions) {
    const idleTimeoutMs = entry.idle_timeout_seconds * 1000;
    this.#clocks = [
      new Health({
        server,
        intervalMs: entry.health.interval_seconds * 1000,
        timeoutMs: entry.health.timeout_seconds * 1000,
        failures: entry.health.failures,
        members,
        onSilent: options.onSilent,
      }),
      new QuietClock({ idleTimeoutMs, ...options }),
      new IdleMembers({
        // A shared connection idles out with its server only.
        idleTimeoutMs: entry.isolation === 'session' ? idleTimeoutMs : 0,
        members,
        isBusy: options.isInUse,
        onIdle: options.onIdleMember,
      }),
    ];
  }

  start(): void {
    for (const clock of this.#clocks) clock.start();
  }

  stop(): void {
    for (const clock of this.#clocks) clock.stop();
  }
}
