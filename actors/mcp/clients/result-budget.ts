// Memory budget for large tool results of agents and flows that wait to be parsed. A run may use at most as
// much as remains free, so no run prevents the calls of others. A result above the share of its run is cut
// (cut-result.ts).

import { Budget, Share } from '../../base/bounds/budget.ts';
import { WeakValues } from '../../base/bounds/weak-values.ts';

/** Total of all results, in bytes; more than 40 results of the maximum size. */
const MAX_BYTES = 67_108_864;

export class ResultBudget {
  readonly #budget: Budget;
  /** Shares by run. An unused share is garbage-collected. */
  readonly #shares = new WeakValues<Share>();

  constructor(maxBytes = MAX_BYTES) {
    this.#budget = new Budget(maxBytes);
  }

  /** Acquires memory for a run. Returns its release; undefined if the run has used its share. */
  acquire(bytes: number, run: string): (() => void) | undefined {
    const share = this.#shares.getOrCreate(run, () => new Share());
    return this.#budget.acquire(bytes, share) ? () => this.#budget.release(bytes, share) : undefined;
  }
}
