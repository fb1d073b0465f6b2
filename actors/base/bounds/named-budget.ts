// Budget with a share for each name, such as a principal or a run (budget.ts). A single name uses up to half
// of the total (A6, ARCHITECTURE.md).

import { Budget, Share } from './budget.ts';
import { WeakValues } from './weak-values.ts';

export class NamedBudget {
  readonly #budget: Budget;
  readonly #shares = new WeakValues<Share>();

  /** `total` is a number of slots or bytes. */
  constructor(total: number) {
    this.#budget = new Budget(total);
  }

  /** Acquires an amount. Returns an idempotent release; undefined if the share is used up. */
  acquire(amount: number, name: string): (() => void) | undefined {
    const share = this.#shares.getOrCreate(name, () => new Share());
    if (!this.#budget.acquire(amount, share)) return undefined;
    let held = amount;
    return () => {
      this.#budget.release(held, share);
      held = 0;
    };
  }
}
