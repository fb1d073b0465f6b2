// How long a call may take: its time begins anew with each sign of life of the server, and stands still while a person is asked.

export class CallDeadline {
  readonly #timeoutMs: number;
  readonly #over = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #questions = 0;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    this.renew();
  }

  /** Aborted once the time is over. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  readonly renew = (): void => {
    clearTimeout(this.#timer);
    if (this.#questions === 0) this.#timer = setTimeout(() => this.#over.abort(), this.#timeoutMs);
  };

  /** Stands still until what `ask` gives has settled. */
  async during<T>(ask: () => Promise<T>): Promise<T> {
    this.#questions += 1;
    clearTimeout(this.#timer);
    try {
      return await ask();
    } finally {
      this.#questions -= 1;
      this.renew();
    }
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#questions = Number.POSITIVE_INFINITY;
  }
}
