// Bytes that are kept for clients: waiting for one that reads slowly, or for one that may come back. A message that goes to
// many is in memory once, and so it is counted once, however many hold it.
//
// HB1  what is counted is the memory that is really kept: of a piece of something larger, all of that, and once.
// HB2  each holder's share counts all that it holds, whether or not others hold the same.

import { Budget, Share } from './budget.ts';

/** Smaller pieces are copied by whoever keeps them: a copy costs less than to know who else has them. */
export const SHARED_FROM = 16_384;

/** A piece of memory: it has its size of the budget itself, and those who hold it are only counted. */
class Piece {
  readonly memory = new Share();
  holders = 0;
}

export class HeldBytes {
  readonly #budget: Budget;
  readonly #pieces = new Map<ArrayBufferLike, Piece>();

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
    if (!this.#budget.hasRoom(length, share)) return false;
    const piece = this.#pieces.get(buffer) ?? new Piece();
    if (piece.holders === 0 && !this.#budget.take(buffer.byteLength, piece.memory)) return false;
    piece.holders += 1;
    share.held += length;
    this.#pieces.set(buffer, piece);
    return true;
  }

  letGo({ buffer, length }: Uint8Array, share: Share): void {
    const piece = this.#pieces.get(buffer);
    if (piece === undefined) return;
    piece.holders -= 1;
    share.held -= length;
    if (piece.holders > 0) return;
    this.#budget.give(buffer.byteLength, piece.memory);
    this.#pieces.delete(buffer);
  }
}
