// Limits the calls in flight at one server, in total and for each session.
//
// IF1 (A8)  never more than `max`; under session isolation so many on each connection.
// IF2 (A6)  where all share them the last eighth goes by shares (budget.ts), so that no session has them all, however long its
//           calls hang. Calls without a session count as one session's. Of fewer than eight one session may have all.

import { Budget, Share } from '../../../base/bounds/budget.ts';
import type { Call, CallMember } from './call.ts';
import type { CallOwner } from './call-owner.ts';

const SHARED_PART = 8;

export class InFlight {
  readonly #max: number;
  readonly #budget: Budget | undefined;
  readonly #shares = new WeakMap<CallOwner, Share>();
  /** Of all calls without a session. */
  readonly #sessionless = new Share();
  #size = 0;

  /** `isShared`: the places are for all sessions together. */
  constructor(max: number, isShared: boolean) {
    this.#max = max;
    this.#budget = isShared ? new Budget(max, max - Math.floor(max / SHARED_PART)) : undefined;
  }

  get size(): number {
    return this.#size;
  }

  /** Nobody has a place. */
  get isFull(): boolean {
    return this.#budget?.free === 0;
  }

  /** Has the call count as its session's; to be said before the following. */
  admit(call: Call): void {
    if (this.#budget !== undefined) call.share = this.#shareOf(call.owner);
  }

  /** Whether its session may have one more; on which connection is another question. */
  hasRoomFor({ share }: Call): boolean {
    return this.#budget === undefined || share === undefined || this.#budget.hasRoom(1, share);
  }

  isFullOn(member: CallMember): boolean {
    return this.#budget === undefined && member.inFlight >= this.#max;
  }

  take({ share }: Call, member: CallMember): void {
    this.#size += 1;
    member.inFlight += 1;
    if (share !== undefined) this.#budget?.take(1, share);
  }

  give({ share }: Call, member: CallMember): void {
    this.#size -= 1;
    member.inFlight -= 1;
    if (share !== undefined) this.#budget?.give(1, share);
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
