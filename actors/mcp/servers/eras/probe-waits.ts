// Limits the requests that wait until a probe has found the protocol era of a server (sessions, or stateless
// requests). The call queue of the server counts only accepted calls. One client can use half of the free
// slots, so no client keeps others from waiting (A6, ARCHITECTURE.md).

import { ClientBudget } from '../calls/client-budget.ts';
import type { ClientShares } from '../calls/client-shares.ts';

export class ProbeWaits {
  readonly #budget: ClientBudget;

  /** `limit` is the number of slots that one client alone can use: half of the budget. */
  constructor(limit: number) {
    this.#budget = new ClientBudget(2 * limit);
  }

  /** Takes a slot. Returns its release; undefined if the client has no slot left. */
  take(client: ClientShares | undefined): (() => void) | undefined {
    const share = this.#budget.shareOf(client);
    return this.#budget.acquire(1, share) ? () => this.#budget.release(1, share) : undefined;
  }
}
