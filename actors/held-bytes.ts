// Bytes that are kept for clients: waiting for one that reads slowly, or for one that may come back. A message that goes to
// many is in memory once, and so it is counted once, however many hold it.
//
// HB1  what is counted is the memory that is really kept: of a piece of something larger, all of that, and once.
// HB2  each holder's share counts what it holds, also where others hold the same, so that nobody is judged by their company.

import { Budget, type Share } from './budget.ts';

/** Smaller pieces are copied by whoever keeps them: a copy costs less than to know who else has them. */
export const SHARED_FROM = 16_384;

export class HeldBytes {
  readonly #budget: Budget;
  /** How many hold each piece of memory. */
  readonly #holders = new Map<ArrayBufferLike, number>();

  constructor(total: number) {
    this.#budget = new Budget(total);
  }

  get taken(): number {
    return this.#budget.taken;
  }

  /** For what a holder has a copy of its own of; false when there is no room. */
  take(bytes: number, share: Share): boolean {
    return this.#budget.take(bytes, share);
  }

  give(bytes: number, share: Share): void {
    this.#budget.give(bytes, share);
  }

  /** For memory that others may hold too; false when there is no room. Each `hold` that was true needs its `letGo`. */
  hold({ buffer, length }: Uint8Array, share: Share): boolean {
    const others = this.#holders.get(buffer) ?? 0;
    if (!this.#budget.takeCommon(length, share, buffer.byteLength, others === 0)) return false;
    this.#holders.set(buffer, others + 1);
    return true;
  }

  letGo({ buffer, length }: Uint8Array, share: Share): void {
    const others = (this.#holders.get(buffer) ?? 1) - 1;
    this.#budget.giveCommon(length, share, buffer.byteLength, others === 0);
    if (others > 0) this.#holders.set(buffer, others);
    else this.#holders.delete(buffer);
  }
}
