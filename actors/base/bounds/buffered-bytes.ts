// Memory budget for messages that are buffered for clients: for slow readers, and for clients that may
// reconnect. A message that several clients (holders) share is charged to the budget once, with the size of
// its whole buffer. The share of each holder counts all its bytes, shared or not.

import { Budget, Share } from './budget.ts';

/** Minimum size of shared pieces, in bytes. Copying a smaller piece is cheaper than tracking its holders. */
export const SHARED_FROM = 16_384;

/**
 * Buffer that several holders share. The budget is charged to the buffer's own share; its holders are only
 * counted.
 */
class Piece {
  readonly memory = new Share();
  holders = 0;
}

export class BufferedBytes {
  readonly #budget: Budget;
  readonly #pieces = new Map<ArrayBufferLike, Piece>();

  constructor(total: number) {
    this.#budget = new Budget(total);
  }

  get used(): number {
    return this.#budget.used;
  }

  /** Acquires memory for a single holder. Returns false if the capacity is insufficient. */
  acquire(bytes: number, share: Share): boolean {
    return this.#budget.acquire(bytes, share);
  }

  release(bytes: number, share: Share): void {
    this.#budget.release(bytes, share);
  }

  /**
   * Acquires memory that several holders can share. Returns false if the capacity is insufficient. Each
   * successful call requires a call of `releaseShared` with the same piece.
   */
  acquireShared({ buffer, length }: Uint8Array, share: Share): boolean {
    if (!this.#budget.hasCapacity(length, share)) return false;
    const piece = this.#pieces.get(buffer) ?? new Piece();
    if (piece.holders === 0 && !this.#budget.acquire(buffer.byteLength, piece.memory)) return false;
    piece.holders += 1;
    share.used += length;
    this.#pieces.set(buffer, piece);
    return true;
  }

  releaseShared({ buffer, length }: Uint8Array, share: Share): void {
    const piece = this.#pieces.get(buffer);
    if (piece === undefined) return;
    piece.holders -= 1;
    share.used -= length;
    if (piece.holders > 0) return;
    this.#budget.release(buffer.byteLength, piece.memory);
    this.#pieces.delete(buffer);
  }
}
