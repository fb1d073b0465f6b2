// Bounds the replay buffers of all sessions together. They are what a session can do without most easily, so that the
// one to which nothing was added for longest is emptied first.

import { HeldBytes } from '../../../base/bounds/held-bytes.ts';
import { type Linked, LinkedList } from '../../../base/bounds/linked-list.ts';

const TOTAL_BYTES = 32 * 1024 * 1024;

/** The replay buffer of one session. */
interface BoundedReplay extends Linked<BoundedReplay> {
  /** Drops all events. */
  clear(): void;
  /** Drops the events of streams that ended too long ago. */
  sweep(now: number): void;
}

export class ReplayBudget {
  readonly held: HeldBytes;
  /** Those that hold anything, the one that was added to longest ago first. */
  readonly #rings = new LinkedList<BoundedReplay>();

  constructor(totalBytes: number = TOTAL_BYTES) {
    this.held = new HeldBytes(totalBytes);
  }

  /** Has the ring longest out of use drop what it holds; false when there is nothing to drop. */
  makeRoom(): boolean {
    const stalest = this.#rings.first;
    stalest?.clear();
    return stalest !== undefined;
  }

  noteUse(ring: BoundedReplay): void {
    this.#rings.delete(ring);
    this.#rings.add(ring);
  }

  noteEmpty(ring: BoundedReplay): void {
    this.#rings.delete(ring);
  }

  /** Lets go of what nobody will come back for. */
  sweep(): void {
    const now = performance.now();
    for (const ring of this.#rings) ring.sweep(now);
  }
}
