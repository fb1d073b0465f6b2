// Claim of a mailbox. A claim is the lease of this process on a mailbox key; its fence is a number that grows
// with each claim of the key. This class holds the current event and the expiry by the local clock.
//
// If a run outlives its claim, a newer claim is queued here until the run finishes; the newest claim is the
// one to renew and to release. A queued claim is dropped when it expires or the store no longer has it; the
// store then redelivers the event.

import type { StoredEvent } from '../../store/event.ts';
import type { Turn } from '../../store/store.ts';
import type { ClaimEpoch } from './claim-epoch.ts';

/** Event to handle, and its claim. */
export interface ClaimedTurn {
  readonly turn: Turn;
  /** Earliest possible expiry of the claim, in performance.now() milliseconds. */
  readonly expiresAt: number;
  /** Membership epoch of the claim (claim-epoch.ts). */
  readonly epoch: ClaimEpoch;
}

/** Replaces the settled event, whose body may be large. */
const NO_EVENT: StoredEvent = {
  seq: 0,
  id: '',
  key: '',
  meta: '',
  body: new Uint8Array(),
  trace: '',
  at: 0,
  attempt: 0,
  crashes: 0,
};

export class Claim {
  #turn: Turn;
  #expiresAt = 0;
  #epoch: ClaimEpoch = { isOver: false };
  #turnsInARow = 0;
  #queued: ClaimedTurn | undefined;

  constructor(key: string) {
    this.#turn = { key, fence: 0, event: NO_EVENT, snapshot: undefined };
  }

  get turn(): Turn {
    return this.#turn;
  }

  /** Number of events under this claim, including the current one. */
  get turnsInARow(): number {
    return this.#turnsInARow;
  }

  /** Turn of the queued claim, if any; otherwise the current turn. Only the newest claim is valid. */
  get newestTurn(): Turn {
    return this.#queued?.turn ?? this.#turn;
  }

  get queuedTurn(): Turn | undefined {
    return this.#queued?.turn;
  }

  begin({ turn, expiresAt, epoch }: ClaimedTurn): void {
    this.#turnsInARow = turn.fence === this.#turn.fence ? this.#turnsInARow + 1 : 1;
    this.#turn = turn;
    this.#expiresAt = expiresAt;
    this.#epoch = epoch;
    this.#queued = undefined;
  }

  /** Returns the turn for the next event under the same claim. */
  nextTurn(event: StoredEvent, snapshot: string | undefined): ClaimedTurn {
    const { key, fence } = this.#turn;
    return { turn: { key, fence, event, snapshot }, expiresAt: this.#expiresAt, epoch: this.#epoch };
  }

  /**
   * Records a stored checkpoint: the run continues with this attempt number and state. `wasClaimed` makes a
   * later attempt check first which actions before the checkpoint were done.
   */
  advance(attempt: number, state: string | undefined): void {
    const { key, fence, event, snapshot } = this.#turn;
    this.#turn = { key, fence, event: { ...event, attempt, state, wasClaimed: true }, snapshot };
  }

  /** Drops the settled event and returns the queued claim, if any. */
  finish(): ClaimedTurn | undefined {
    const queued = this.#queued;
    this.#queued = undefined;
    const { key, fence } = this.#turn;
    this.#turn = { key, fence, event: NO_EVENT, snapshot: undefined };
    return queued;
  }

  /** Queues a newer claim until the run under the lost claim finishes. */
  queue(claim: ClaimedTurn): void {
    this.#queued = claim;
  }

  /**
   * Returns whether the current claim has possibly expired; `now` in performance.now() milliseconds, as
   * below.
   */
  mayHaveExpired(now: number): boolean {
    return now >= this.#expiresAt;
  }

  /**
   * Drops the queued claim if its membership epoch has ended. Returns true if the epoch of the current claim
   * has ended.
   */
  onMembershipLost(): boolean {
    if (this.#queued?.epoch.isOver === true) this.#queued = undefined;
    return this.#epoch.isOver;
  }

  dropExpiredQueued(now: number): void {
    if (this.#queued !== undefined && now >= this.#queued.expiresAt) this.#queued = undefined;
  }

  onRenewed(fence: number, expiresAt: number): void {
    if (this.#queued?.turn.fence === fence) this.#queued = { ...this.#queued, expiresAt };
    else if (this.#turn.fence === fence) this.#expiresAt = expiresAt;
  }

  /**
   * Handles a claim that the store no longer has; a queued claim is dropped. Returns true for the current
   * claim.
   */
  onClaimGone(fence: number): boolean {
    if (this.#queued?.turn.fence !== fence) return this.#turn.fence === fence;
    this.#queued = undefined;
    return false;
  }
}
