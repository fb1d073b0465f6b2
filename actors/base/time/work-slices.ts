// Divides long work into slices, between which other work of the event loop runs.

import { setImmediate as nextTurn } from 'node:timers/promises';

/** Duration of a slice. Garbage collection and timers of the same turn add to it. */
const SLICE_MS = 5;

export class WorkSlices {
  #endsAt = performance.now() + SLICE_MS;

  /** Waits for the next turn if the time of the slice is used up. Call it between the items of the work. */
  async pause(): Promise<void> {
    if (performance.now() < this.#endsAt) return;
    await nextTurn();
    this.#endsAt = performance.now() + SLICE_MS;
  }
}
