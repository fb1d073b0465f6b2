// Limits the memory for resource subscriptions of all clients at all servers. A subscription lives as long as
// its client, so further subscriptions are rejected at the limit. No client can use the whole budget (A6,
// ARCHITECTURE.md); a client is a principal (authenticated identity) or a session (calls/client-shares.ts).

import { OverloadedError } from '../../../base/errors/errors.ts';
import { ClientBudget } from '../calls/client-budget.ts';
import type { CallOwner } from '../calls/owner.ts';

const TOTAL_BYTES = 32 * 1024 * 1024;
/** Memory per subscription besides the URI, in bytes. */
const ENTRY_BYTES = 256;

export class SubscriptionBudget {
  readonly #budget: ClientBudget;

  constructor(totalBytes: number = TOTAL_BYTES) {
    this.#budget = new ClientBudget(totalBytes);
  }

  get bytes(): number {
    return this.#budget.used;
  }

  /** Returns the error if the budget is too full for another subscription of this client. */
  refusal(uri: string, owner: CallOwner): OverloadedError | undefined {
    if (this.#budget.hasCapacity(sizeOf(uri), this.#shareOf(owner))) return undefined;
    return new OverloadedError(
      `no memory for another subscription: all clients together use ${this.#budget.used} of ` +
        `${this.#budget.total} bytes; unsubscribe from some`,
    );
  }

  /** Reserves memory for a subscription. Throws OverloadedError if the budget is exhausted. */
  acquire(uri: string, owner: CallOwner): void {
    const refusal = this.refusal(uri, owner);
    if (refusal !== undefined) throw refusal;
    this.#budget.acquire(sizeOf(uri), this.#shareOf(owner));
  }

  release(uri: string, owner: CallOwner): void {
    this.#budget.release(sizeOf(uri), this.#shareOf(owner));
  }

  #shareOf(owner: CallOwner) {
    // An owner (client session) without shared limits is a client of its own.
    return this.#budget.shareOf(owner.shares ?? owner);
  }
}

/** Returns the size in bytes. Text that is not Latin-1 needs two bytes per character. */
function sizeOf(uri: string): number {
  return ENTRY_BYTES + 2 * uri.length;
}
