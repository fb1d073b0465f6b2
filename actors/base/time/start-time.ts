// The start time of something that goes on: as a time of day, and as an age. The age goes by the steady clock, so that
// it is never negative after the machine's clock was set back.

export class StartTime {
  /** By the machine's clock as it was then, in epoch milliseconds. */
  readonly at = Date.now();
  readonly #steadyAt = performance.now();

  /** How long ago it was, in whole seconds. */
  get ageSeconds(): number {
    return Math.floor((performance.now() - this.#steadyAt) / 1000);
  }
}
