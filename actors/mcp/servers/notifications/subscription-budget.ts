// Bounds the resource subscriptions of all clients at all servers together, in bytes. A subscription is kept as long as
// its client, so one more than there is room for is refused; and no client can take the room of all (A6).

import { Budget, Share } from '../../../base/bounds/budget.ts';
import { OverloadedError } from '../../../base/errors/errors.ts';
import type { CallOwner } from '../calls/call-owner.ts';

const TOTAL_BYTES = 32 * 1024 * 1024;
/** What a subscription takes beside its uri. */
const ENTRY_BYTES = 256;

export class SubscriptionBudget {
  readonly #budget: Budget;
  readonly #shares = new Map<CallOwner, Share>();

  constructor(totalBytes: number = TOTAL_BYTES) {
    this.#budget = new Budget(totalBytes);
  }

  get bytes(): number {
    return this.#budget.taken;
  }

  /** Why there is no room for one more of this client's; undefined when there is. */
  refusal(uri: string, owner: CallOwner): OverloadedError | undefined {
    if (this.#budget.hasRoom(sizeOf(uri), this.#shares.get(owner) ?? new Share())) return undefined;
    return new OverloadedError(
      `there is no room for another subscription: those of all clients hold ${this.#budget.taken} of ` +
        `${this.#budget.total} bytes; unsubscribe from some`,
    );
  }

  /** Takes the room. Throws OverloadedError when there is none. */
  take(uri: string, owner: CallOwner): void {
    const refusal = this.refusal(uri, owner);
    if (refusal !== undefined) throw refusal;
    const share = this.#shares.get(owner) ?? new Share();
    this.#budget.take(sizeOf(uri), share);
    this.#shares.set(owner, share);
  }

  give(uri: string, owner: CallOwner): void {
    const share = this.#shares.get(owner);
    if (share === undefined) return;
    this.#budget.give(sizeOf(uri), share);
    if (share.held === 0) this.#shares.delete(owner);
  }
}

/** Text beyond Latin-1 takes two bytes a character. */
function sizeOf(uri: string): number {
  return ENTRY_BYTES + 2 * uri.length;
}
