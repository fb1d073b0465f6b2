// When something began that goes on: shown as a time of day, and as how long ago that is. The latter is told by the steady
// clock, so that nothing has lasted less than nothing after the machine's clock was set back.

export class StartTime {
  /** By the machine's clock as it was then, in epoch milliseconds. */
  readonly at = Date.now();
  readonly #steadyAt = performance.now();

  /** How long ago it was, in whole seconds. */
  get ageSeconds(): number {
    return Math.floor((performance.now() - this.#steadyAt) / 1000);
  }
}
