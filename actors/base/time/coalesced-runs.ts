// Coalesces concurrent calls of an operation: callers share the next run of the operation (A8,
// ARCHITECTURE.md).
//
// TU1  A run starts when the previous run has completed, with or without an error.
// TU2  A caller receives the result of a run that started later than the call.
// TU3  At most one run is active and one is waiting.

export class CoalescedRuns<T> {
  readonly #act: () => Promise<T>;
  #last: Promise<unknown> = Promise.resolve();
  #next: Promise<T> | undefined;

  constructor(act: () => Promise<T>) {
    this.#act = act;
  }

  /** Returns the result of the next run, or rejects with its error. */
  run(): Promise<T> {
    this.#next ??= this.#begin();
    return this.#next;
  }

  #begin(): Promise<T> {
    const turn = this.#last.then(() => {
      this.#next = undefined;
      return this.#act();
    });
    this.#last = turn.catch(() => {});
    return turn;
  }
}
