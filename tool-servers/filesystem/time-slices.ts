// Long work in the one thread of the program, in slices: between them the others get their turn, and a call that is
// cancelled or late ends.

import { setImmediate } from 'node:timers/promises';
import { SLICE_MS } from './limits.ts';

export class TimeSlices {
  readonly #signal: AbortSignal;
  #since = performance.now();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Whether the slice is over; cheap enough to be asked at every step. */
  get isDue(): boolean {
    return performance.now() - this.#since > SLICE_MS;
  }

  /** Lets the others run. @throws the reason of the signal */
  async next(): Promise<void> {
    await setImmediate();
    this.#signal.throwIfAborted();
    this.#since = performance.now();
  }
}
