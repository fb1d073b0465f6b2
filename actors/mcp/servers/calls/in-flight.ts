// Limits the calls in flight at one server, in total and per session (A8, ARCHITECTURE.md). With `isolation:
// session` each connection has the limit. Otherwise all sessions share it: seven eighths are free for any
// session, the last eighth is divided among the sessions (budget.ts), so one session with hanging calls
// cannot use all slots (A6). All sessionless calls count as one session. Below eight slots one session may
// use all.

import { Budget, Share } from '../../../base/bounds/budget.ts';
import type { Call, CallMember } from './call.ts';
import type { CallOwner } from './owner.ts';

const SHARED_FRACTION = 8;

export class InFlight {
  readonly #max: number;
  readonly #budget: Budget | undefined;
  readonly #shares = new WeakMap<CallOwner, Share>();
  /** Share of sessionless calls. */
  readonly #sessionless = new Share();
  #size = 0;

  /** `isShared`: all sessions share the limit. */
  constructor(max: number, isShared: boolean) {
    this.#max = max;
    this.#budget = isShared ? new Budget(max, max - Math.floor(max / SHARED_FRACTION)) : undefined;
  }

  get size(): number {
    return this.#size;
  }

  /** True if no slot is free. */
  get isFull(): boolean {
    return this.#budget?.free === 0;
  }

  /** Assigns the share of the session to the call. Call this before the methods below. */
  assignShare(call: Call): void {
    if (this.#budget !== undefined) call.share = this.#shareOf(call.owner);
  }

  /** Returns true if the call's session has a free slot, regardless of the connection. */
  hasSlotFor({ share }: Call): boolean {
    return this.#budget === undefined || share === undefined || this.#budget.hasCapacity(1, share);
  }

  isFullOn(member: CallMember): boolean {
    return this.#budget === undefined && member.inFlight >= this.#max;
  }

  acquire({ share }: Call, member: CallMember): void {
    this.#size += 1;
    member.inFlight += 1;
    if (share !== undefined) this.#budget?.acquire(1, share);
  }

  release({ share }: Call, member: CallMember): void {
    this.#size -= 1;
    member.inFlight -= 1;
    if (share !== undefined) this.#budget?.release(1, share);
  }

  #shareOf(owner: CallOwner | undefined): Share {
    if (owner === undefined) return this.#sessionless;
    let share = this.#shares.get(owner);
    if (share === undefined) {
      share = new Share();
      this.#shares.set(owner, share);
    }
    return share;
  }
}
