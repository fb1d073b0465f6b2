// Slots for open streams, so that a page that opens streams in a loop cannot exhaust the listener (A8,
// ARCHITECTURE.md). One principal can use at most half of the free slots: programs that only watch leave
// slots for the operator (A6).

import { Budget, Share } from '../../actors/base/bounds/budget.ts';
import { WeakValues } from '../../actors/base/bounds/weak-values.ts';
import { type Principal, principalText } from '../../actors/identity/principal.ts';

/** One principal alone can use 64. */
const SLOTS = 128;

export class ViewerSlots {
  readonly #budget = new Budget(SLOTS);
  readonly #shares = new WeakValues<Share>();

  /** Takes a slot. Returns its release, which may be called again; undefined if none is left. */
  take(principal: Principal): (() => void) | undefined {
    const share = this.#shares.getOrCreate(principalText(principal), () => new Share());
    if (!this.#budget.acquire(1, share)) return undefined;
    let held = 1;
    return () => {
      this.#budget.release(held, share);
      held = 0;
    };
  }
}
