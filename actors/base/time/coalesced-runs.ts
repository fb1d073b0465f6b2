// Coalesces runs of the same thing: one run at a time, and one run serves everybody who asked for it before it began.
//
// TU1  a turn begins when the one before it has ended, however that ended.
// TU2  whoever asks gets what came of a turn that began after they had asked.
// TU3  at most one turn runs and one waits, however many ask (A8).

export class CoalescedRuns<T> {
  readonly #act: () => Promise<T>;
  #last: Promise<unknown> = Promise.resolve();
  #next: Promise<T> | undefined;

  constructor(act: () => Promise<T>) {
    this.#act = act;
  }

  /** What comes of the next turn; rejects as it does. */
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
