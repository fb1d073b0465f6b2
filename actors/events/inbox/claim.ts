// The claim of one mailbox: its turn, and until when the claim surely holds by our own clock. While a run under a lost
// claim has not ended, a newer claim may already come; it waits here.
//
// TE1  the newest claim is the one that is renewed, and given back.
// TE2  one that waits is forgotten when its time is over, or when the store no longer knows it: its event comes again.
// TE3  of a turn that is over nothing is kept.

import type { StoredEvent } from '../../store/event.ts';
import type { Turn } from '../../store/store.ts';
import type { Tenure } from './tenure.ts';

export interface ClaimedTurn {
  readonly turn: Turn;
  /** Until when it surely holds, in performance.now() milliseconds. */
  readonly heldUntil: number;
  /** That of the node which claimed it. */
  readonly tenure: Tenure;
}

/** Takes the place of the event that was handled, which may be large. */
const NOTHING: StoredEvent = {
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
  #heldUntil = 0;
  #tenure: Tenure = { isOver: false };
  #turnsInARow = 0;
  #waiting: ClaimedTurn | undefined;

  /** A mailbox begins without a claim. */
  constructor(key: string) {
    this.#turn = { key, fence: 0, event: NOTHING, snapshot: undefined };
  }

  get turn(): Turn {
    return this.#turn;
  }

  /** How many turns there were under this claim, with the present one. */
  get turnsInARow(): number {
    return this.#turnsInARow;
  }

  get newest(): Turn {
    return this.#waiting?.turn ?? this.#turn;
  }

  /** The turn of the claim that waits for the end of this one. */
  get waiting(): Turn | undefined {
    return this.#waiting?.turn;
  }

  begin({ turn, heldUntil, tenure }: ClaimedTurn): void {
    this.#turnsInARow = turn.fence === this.#turn.fence ? this.#turnsInARow + 1 : 1;
    this.#turn = turn;
    this.#heldUntil = heldUntil;
    this.#tenure = tenure;
    this.#waiting = undefined;
  }

  /** The next event under the same claim. */
  after(event: StoredEvent, snapshot: string | undefined): ClaimedTurn {
    const { key, fence } = this.#turn;
    return { turn: { key, fence, event, snapshot }, heldUntil: this.#heldUntil, tenure: this.#tenure };
  }

  /** The turn goes on after a checkpoint: as this attempt, from this state. What was begun before it counts as tried. */
  goOn(attempt: number, state: string | undefined): void {
    const { key, fence, event, snapshot } = this.#turn;
    this.#turn = { key, fence, event: { ...event, attempt, state, wasClaimed: true }, snapshot };
  }

  /** Ends the turn; gives the claim that waited for this. */
  end(): ClaimedTurn | undefined {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    const { key, fence } = this.#turn;
    this.#turn = { key, fence, event: NOTHING, snapshot: undefined };
    return waiting;
  }

  /** Keeps a newer claim that has come before the end of the run under this one. */
  wait(claimed: ClaimedTurn): void {
    this.#waiting = claimed;
  }

  /** Whether the claim of the turn may hold no longer. `now` in performance.now() milliseconds, as below. */
  isOver(now: number): boolean {
    return now >= this.#heldUntil;
  }

  /** The node has lost what it had claimed. Gives whether the turn is of that. */
  dropEnded(): boolean {
    if (this.#waiting?.tenure.isOver === true) this.#waiting = undefined;
    return this.#tenure.isOver;
  }

  dropOverdue(now: number): void {
    if (this.#waiting !== undefined && now >= this.#waiting.heldUntil) this.#waiting = undefined;
  }

  onRenewed(fence: number, heldUntil: number): void {
    if (this.#waiting?.turn.fence === fence) this.#waiting = { ...this.#waiting, heldUntil };
    else if (this.#turn.fence === fence) this.#heldUntil = heldUntil;
  }

  /** The store no longer knows the claim. Gives whether it is that of the turn. */
  onMissed(fence: number): boolean {
    if (this.#waiting?.turn.fence !== fence) return this.#turn.fence === fence;
    this.#waiting = undefined;
    return false;
  }
}
