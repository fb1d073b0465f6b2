// Splits long work into time slices. Between slices the event loop runs, and canceled or late calls stop.

import { setImmediate } from 'node:timers/promises';
import { SLICE_MS } from './limits.ts';

export class TimeSlices {
  readonly #signal: AbortSignal;
  #startedAt = performance.now();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** True if the slice has expired. Cheap enough to check per entry. */
  get isDue(): boolean {
    return performance.now() - this.#startedAt > SLICE_MS;
  }

  /** Yields to the event loop. Throws the reason of the signal. */
  async pause(): Promise<void> {
    await setImmediate();
    this.#signal.throwIfAborted();
    this.#startedAt = performance.now();
  }
}
