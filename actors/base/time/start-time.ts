// Start time and age of running objects. The age uses the monotonic clock, so it is never negative, even if
// the system clock moves backwards.

export class StartTime {
  /** Epoch milliseconds by the system clock. */
  readonly at = Date.now();
  /** Start by the monotonic clock. */
  readonly #steadyAt = performance.now();

  /** Age in whole seconds. */
  get ageSeconds(): number {
    return Math.floor((performance.now() - this.#steadyAt) / 1000);
  }
}
