// Limits the calls in flight at one server, in total and per client (A8, ARCHITECTURE.md). With `isolation:
// session` each private connection has the limit. Otherwise all clients share it: seven eighths are free for
// any client, the last eighth is divided among the clients (budget.ts), so one client with hanging calls
// cannot use all slots (A6). A client is a principal or a session (client-shares.ts); all other calls count
// as one client. Below eight slots one client may use all.

import { Budget, Share } from '../../../base/bounds/budget.ts';
import type { Call, CallMember } from './call.ts';
import type { ClientShares } from './client-shares.ts';

const SHARED_FRACTION = 8;

export class InFlight {
  readonly #max: number;
  readonly #isShared: boolean;
  /** Slots of the calls without a private connection. */
  readonly #budget: Budget;
  readonly #shares = new WeakMap<ClientShares, Share>();
  /** Share of the calls of unknown clients. */
  readonly #unknown = new Share();
  #size = 0;

  /** `isShared`: no session has a private connection. */
  constructor(max: number, isShared: boolean) {
    this.#max = max;
    this.#isShared = isShared;
    this.#budget = new Budget(max, max - Math.floor(max / SHARED_FRACTION));
  }

  get size(): number {
    return this.#size;
  }

  /** True if no slot is free for any call. */
  get isFull(): boolean {
    return this.#isShared && this.#budget.free === 0;
  }

  /** Assigns the share of the client to the call. Call this before the methods below. */
  assignShare(call: Call): void {
    if (this.#isShared || call.owner === undefined) call.share = this.#shareOf(call.client);
  }

  /** Returns true if the call's client has a free slot, regardless of the connection. */
  hasSlotFor({ share }: Call): boolean {
    return share === undefined || this.#budget.hasCapacity(1, share);
  }

  isFullOn(member: CallMember): boolean {
    return !this.#isShared && member.inFlight >= this.#max;
  }

  acquire({ share }: Call, member: CallMember): void {
    this.#size += 1;
    member.inFlight += 1;
    if (share !== undefined) this.#budget.acquire(1, share);
  }

  release({ share }: Call, member: CallMember): void {
    this.#size -= 1;
    member.inFlight -= 1;
    if (share !== undefined) this.#budget.release(1, share);
  }

  #shareOf(client: ClientShares | undefined): Share {
    if (client === undefined) return this.#unknown;
    let share = this.#shares.get(client);
    if (share === undefined) {
      share = new Share();
      this.#shares.set(client, share);
    }
    return share;
  }
}
