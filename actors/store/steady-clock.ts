// Steady clock of the embedded engine: the monotonic clock of the process, continued after a restart. The
// file contains the sum of all steps of the system clock, which is subtracted at the start.

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
