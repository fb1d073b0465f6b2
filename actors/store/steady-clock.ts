// Time of the embedded engine without the steps of the system clock. The engine records the sum of the steps
// in its file, so that the time continues after a restart; while the process runs, the monotonic clock counts.

/** Space and key of the recorded sum, in milliseconds. */
export const CLOCK_SPACE = 'clock';
export const CLOCK_SHIFT = 'shift';

export class SteadyClock {
  /** Difference to the monotonic clock, in milliseconds. */
  #offset = Date.now() - performance.now();

  /** Starts with the sum that was recorded when the file was opened. */
  start(shiftMs: number): void {
    this.#offset = Date.now() - shiftMs - performance.now();
  }

  get now(): number {
    return Math.round(performance.now() + this.#offset);
  }
}
