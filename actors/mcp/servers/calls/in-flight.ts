// Limits the calls in flight at one server, in total and per client (A8, ARCHITECTURE.md). With `isolation:
// session` each client session (the `owner` of its calls) has a private connection, and each connection has
// the limit. Otherwise all clients share the limit (client-budget.ts). A client is a principal (authenticated
// identity) or a session (client-shares.ts). A `member` is one of the server's connections.

import type { Call, CallMember } from './call.ts';
import { type ClientBudget, serverSlots } from './client-budget.ts';

export class InFlight {
  readonly #max: number;
  readonly #isShared: boolean;
  /** Slots of the calls without a private connection. */
  readonly #slots: ClientBudget;
  #size = 0;

  /** `isShared`: no session has a private connection. */
  constructor(max: number, isShared: boolean) {
    this.#max = max;
    this.#isShared = isShared;
    this.#slots = serverSlots(max);
  }

  get size(): number {
    return this.#size;
  }

  /** True if no slot is free for any call. */
  get isFull(): boolean {
    return this.#isShared && this.#slots.free === 0;
  }

  /** Assigns the share of the client to the call. Call this before the methods below. */
  assignShare(call: Call): void {
    // A call with an owner uses a private connection, whose limit `isFullOn` checks.
    if (this.#isShared || call.owner === undefined) call.share = this.#slots.shareOf(call.client);
  }

  /** Returns true if the call's client has a free slot, regardless of the connection. */
  hasSlotFor({ share }: Call): boolean {
    return share === undefined || this.#slots.hasCapacity(1, share);
  }

  /** Returns true if this private connection has reached its limit. */
  isFullOn(member: CallMember): boolean {
    return !this.#isShared && member.inFlight >= this.#max;
  }

  acquire({ share }: Call, member: CallMember): void {
    this.#size += 1;
    member.inFlight += 1;
    if (share !== undefined) this.#slots.acquire(1, share);
  }

  release({ share }: Call, member: CallMember): void {
    this.#size -= 1;
    member.inFlight -= 1;
    if (share !== undefined) this.#slots.release(1, share);
  }
}
