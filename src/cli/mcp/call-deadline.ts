// Deadline for a tool call. Progress of the server restarts it; it pauses while the user answers a question.

export class CallDeadline {
  readonly #timeoutMs: number;
  readonly #expired = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #questions = 0;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    this.renew();
  }

  /** Aborted when the deadline expires. */
  get signal(): AbortSignal {
    return this.#expired.signal;
  }

  readonly renew = (): void => {
    clearTimeout(this.#timer);
    if (this.#questions === 0) this.#timer = setTimeout(() => this.#expired.abort(), this.#timeoutMs);
  };

  /** Calls `ask`, and pauses the deadline until its promise is settled. */
  async pauseDuring<T>(ask: () => Promise<T>): Promise<T> {
    this.#questions += 1;
    clearTimeout(this.#timer);
    try {
      return await ask();
    } finally {
      this.#questions -= 1;
      this.renew();
    }
  }

  close(): void {
    clearTimeout(this.#timer);
    // Later calls of `renew` then start no timer.
    this.#questions = Number.POSITIVE_INFINITY;
  }
}
