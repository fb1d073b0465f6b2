// The messages for one platform leave from one node of a cluster at a time: how fast they may, for how long a platform wants none,
// and whether it answers at all (outbound/pacing.ts, circuits.ts) is known where they leave, and nowhere else. Order is kept by the claims on
// destinations, whichever node that is. Loaded only where there are other nodes.
//
// SOL1  one node at most takes up messages for a platform; another one does so when that has ended, is cut off, or stands still.
// SOL2  a node that has no trigger of the platform leaves them to one that has: it could only say that nobody sends them.

import type { WorkGate } from '../../events/inbox/work-gate.ts';
import type { Cluster, Member, NodeLease } from '../../store/membership.ts';

export interface SoleNodeOptions {
  readonly cluster: Cluster;
  readonly platform: string;
  /** Whether a trigger here sends to it. */
  isUsed(): boolean;
  /** The gate has opened. */
  onOpen(): void;
}

/** By which members know of each other to which platforms they send. */
export const PLATFORMS = 'platforms';
const SHORTEST_MS = 700;
const LONGEST_MS = 1_200;
/** Of one that has no trigger: it takes what nobody wants, to say so. */
const UNUSED_MS = 10_000;

export class SoleNode implements WorkGate {
  readonly #options: SoleNodeOptions;
  readonly #stopWatching: () => void;
  #lease: NodeLease | undefined;
  #isTrying = false;
  #isClosed = false;
  /** Who the members were at the last try, and to what they send. */
  #seen = '';
  #timer: NodeJS.Timeout | undefined;

  /** Begins to try. */
  constructor(options: SoleNodeOptions) {
    this.#options = options;
    this.#stopWatching = options.cluster.membership.watch({
      onJoined: () => void this.#try(),
      onMembers: (members) => this.#onMembers(members),
    });
    this.#schedule();
  }

  get isOpen(): boolean {
    return this.#lease?.isHeld === true;
  }

  /** Triggers are others now. */
  changed(): void {
    if (this.#options.isUsed() || this.isOpen) void this.#try();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopWatching();
    clearTimeout(this.#timer);
    void this.#lease?.release();
  }

  #onMembers(members: readonly Member[]): void {
    const { platform } = this.#options;
    const seen = JSON.stringify(members.map((member) => [member.epoch, sendsTo(member, platform)]));
    if (seen === this.#seen) return;
    this.#seen = seen;
    // Of one that has no trigger here nothing is urgent, but to let it go.
    this.changed();
  }

  /** Never rejects. */
  async #try(): Promise<void> {
    if (this.#isTrying || this.#isClosed) return;
    this.#isTrying = true;
    clearTimeout(this.#timer);
    const { leases } = this.#options.cluster;
    try {
      if (!this.#mayTake()) await this.#lease?.release();
      else if (!this.isOpen) await this.#take(leases.take(this.#name));
    } finally {
      this.#isTrying = false;
    }
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isClosed) return;
    const pauseMs = this.#options.isUsed()
      ? SHORTEST_MS + Math.random() * (LONGEST_MS - SHORTEST_MS)
      : UNUSED_MS;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#try(), pauseMs).unref();
  }

  get #name(): string {
    return `outbox/${this.#options.platform}`;
  }

  async #take(taking: Promise<NodeLease | undefined>): Promise<void> {
    // While the database is away nobody knows; it is asked again.
    const lease = await taking.catch(() => undefined);
    if (lease === undefined) return;
    this.#lease = lease;
    if (this.#isClosed) void lease.release();
    else this.#options.onOpen();
  }

  #mayTake(): boolean {
    const { cluster, platform, isUsed } = this.#options;
    const { epoch, members } = cluster.membership;
    return isUsed() || !members.some((member) => member.epoch !== epoch && sendsTo(member, platform));
  }
}

function sendsTo({ about }: Member, platform: string): boolean {
  const told = about[PLATFORMS];
  return Array.isArray(told) && told.includes(platform);
}
