// Limits the memory of all replay buffers together. A replay buffer has a session's recent events, for
// clients that lost a stream (replay-buffer.ts). Sessions work without stored events, so at the limit the
// least recently used buffer is cleared.

import { BufferedBytes } from '../../../base/bounds/buffered-bytes.ts';
import { LinkedList, type ListMember } from '../../../base/bounds/linked-list.ts';

const TOTAL_BYTES = 32 * 1024 * 1024;

/** A session's replay buffer. */
interface BudgetedBuffer extends ListMember<BudgetedBuffer> {
  /** Drops all events. */
  clear(): void;
  /** Drops expired events. */
  sweep(now: number): void;
}

export class ReplayBudget {
  /** Bytes held by all buffers. A message shared by several buffers counts once. */
  readonly heldBytes: BufferedBytes;
  /** Buffers with events, least recently used first. */
  readonly #buffers = new LinkedList<BudgetedBuffer>();

  constructor(totalBytes: number = TOTAL_BYTES) {
    this.heldBytes = new BufferedBytes(totalBytes);
  }

  /** Clears the least recently used buffer. Returns false if all are empty. */
  evictStalest(): boolean {
    const stalest = this.#buffers.first;
    stalest?.clear();
    return stalest !== undefined;
  }

  /** Makes this buffer the most recently used. */
  noteUse(buffer: BudgetedBuffer): void {
    this.#buffers.delete(buffer);
    this.#buffers.add(buffer);
  }

  noteEmpty(buffer: BudgetedBuffer): void {
    this.#buffers.delete(buffer);
  }

  /** Drops expired events. */
  sweep(): void {
    const now = performance.now();
    for (const buffer of this.#buffers) buffer.sweep(now);
  }
}
