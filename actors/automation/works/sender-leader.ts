// Leader per platform: one cluster node sends the messages, because rate limits, pauses and circuit breakers
// (outbox/pacing.ts, circuits.ts) are in the memory of the sending node. A new leader takes over when the old
// leader stops, loses the database or is suspended. Nodes with triggers of the platform have precedence. If
// two nodes lead for a short time, their claims on destinations keep the messages in order. Loaded only in
// clusters.

import type { WorkGate } from '../../events/inbox/work-gate.ts';
import type { Cluster, Member, NodeLease } from '../../store/membership.ts';

export interface SenderLeaderOptions {
  readonly cluster: Cluster;
  readonly platform: string;
  /** Returns true if a local trigger sends to the platform. */
  isUsed(): boolean;
  /** Called when this node becomes leader. */
  onOpen(): void;
}

/** Membership field with a node's platforms. */
export const PLATFORMS = 'platforms';
/** Range of the random retry interval, so that the nodes do not all try together. */
const MIN_RETRY_MS = 700;
const MAX_RETRY_MS = 1_200;
/** Retry interval of nodes that have no trigger of the platform; as leader they only reject rows. */
const UNUSED_RETRY_MS = 10_000;

export class SenderLeader implements WorkGate {
  readonly #options: SenderLeaderOptions;
  readonly #stopWatching: () => void;
  #lease: NodeLease | undefined;
  #isTrying = false;
  #isClosed = false;
  /** Members and their platforms at the last attempt. */
  #lastMembers = '';
  #timer: NodeJS.Timeout | undefined;

  /** Starts the attempts to become leader. */
  constructor(options: SenderLeaderOptions) {
    this.#options = options;
    this.#stopWatching = options.cluster.membership.watch({
      onJoined: () => void this.#updateLeadership(),
      onMembers: (members) => this.#onMembers(members),
    });
    this.#schedule();
  }

  get isOpen(): boolean {
    return this.#lease?.isHeld === true;
  }

  /** Reacts to changed triggers. */
  onTriggersChanged(): void {
    if (this.#options.isUsed() || this.isOpen) void this.#updateLeadership();
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
    // The epoch identifies a member: a node that rejoins has a new epoch.
    const currentMembers = JSON.stringify(members.map((member) => [member.epoch, sendsTo(member, platform)]));
    if (currentMembers === this.#lastMembers) return;
    this.#lastMembers = currentMembers;
    // If no local trigger uses the platform, only the release of the leadership is urgent.
    this.onTriggersChanged();
  }

  /** Acquires or releases the leadership. Never rejects. */
  async #updateLeadership(): Promise<void> {
    if (this.#isTrying || this.#isClosed) return;
    this.#isTrying = true;
    clearTimeout(this.#timer);
    const { leases } = this.#options.cluster;
    try {
      if (!this.#canLead()) await this.#lease?.release();
      else if (!this.isOpen) await this.#becomeLeader(leases.acquire(this.#name));
    } finally {
      this.#isTrying = false;
    }
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isClosed) return;
    const pauseMs = this.#options.isUsed()
      ? MIN_RETRY_MS + Math.random() * (MAX_RETRY_MS - MIN_RETRY_MS)
      : UNUSED_RETRY_MS;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#updateLeadership(), pauseMs).unref();
  }

  get #name(): string {
    return `outbox/${this.#options.platform}`;
  }

  async #becomeLeader(request: Promise<NodeLease | undefined>): Promise<void> {
    // If the database is unavailable, this node does not lead, and the next attempt repeats the request.
    const lease = await request.catch(() => undefined);
    if (lease === undefined) return;
    this.#lease = lease;
    if (this.#isClosed) void lease.release();
    else this.#options.onOpen();
  }

  #canLead(): boolean {
    const { cluster, platform, isUsed } = this.#options;
    const { epoch, members } = cluster.membership;
    return isUsed() || !members.some((member) => member.epoch !== epoch && sendsTo(member, platform));
  }
}

function sendsTo({ about }: Member, platform: string): boolean {
  const platforms = about[PLATFORMS];
  return Array.isArray(platforms) && platforms.includes(platform);
}
