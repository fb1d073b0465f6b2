// Places for the requests that wait for the era probe of a server. The call queue of the server counts only
// accepted calls. One client can use half of the free places, so no client keeps others from waiting (A6,
// ARCHITECTURE.md).

import { Budget, Share } from '../../../base/bounds/budget.ts';
import type { ClientShares } from '../calls/client-shares.ts';

export class ProbeWaits {
  readonly #budget: Budget;
  readonly #shares = new WeakMap<ClientShares, Share>();
  /** Share of the requests without a known client. */
  readonly #unknown = new Share();

  /** `limit` is the number of places that one client alone can use. */
  constructor(limit: number) {
    this.#budget = new Budget(2 * limit);
  }

  /** Takes a place. Returns its release; undefined if the client has no place left. */
  take(client: ClientShares | undefined): (() => void) | undefined {
    const share = this.#shareOf(client);
    return this.#budget.acquire(1, share) ? () => this.#budget.release(1, share) : undefined;
  }

  #shareOf(client: ClientShares | undefined): Share {
    if (client === undefined) return this.#unknown;
    const share = this.#shares.get(client) ?? new Share();
    this.#shares.set(client, share);
    return share;
  }
}
