// What ends one request early: its deadline, or the signal of whoever asked. Nothing is left of it at a signal that lives for
// long, such as that of a connection under which requests are made for days.

export class RequestEnd {
  readonly #controller = new AbortController();
  readonly #asked: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout;
  #hasTimedOut = false;

  constructor(timeoutMs: number, asked: AbortSignal | undefined) {
    this.#asked = asked;
    this.#timer = setTimeout(() => {
      this.#hasTimedOut = true;
      this.#controller.abort();
    }, timeoutMs).unref();
    if (asked?.aborted) this.giveUp();
    else asked?.addEventListener('abort', this.giveUp, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The deadline was the first to end it. */
  get hasTimedOut(): boolean {
    return this.#hasTimedOut && this.#asked?.aborted !== true;
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#asked?.removeEventListener('abort', this.giveUp);
  }

  /** Ends the request, whatever of it is under way. */
  readonly giveUp = (): void => this.#controller.abort();
}
