// What ends one request early: its deadline, or the signal of whoever asked. Nothing is left of it at a signal that lives for
// long, such as that of a connection under which requests are made for days: `AbortSignal.any` would leave something there.

export class RequestEnd {
  readonly #controller = new AbortController();
  readonly #asked: AbortSignal | undefined;
  readonly #deadline: AbortSignal;

  constructor(timeoutMs: number, asked: AbortSignal | undefined) {
    this.#asked = asked;
    // It takes whole milliseconds only.
    this.#deadline = AbortSignal.timeout(Math.ceil(timeoutMs));
    this.#deadline.addEventListener('abort', this.giveUp, { once: true });
    if (asked?.aborted) this.giveUp();
    else asked?.addEventListener('abort', this.giveUp, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The deadline has ended it, and nobody else would have. */
  get hasTimedOut(): boolean {
    return this.#deadline.aborted && this.#asked?.aborted !== true;
  }

  clear(): void {
    this.#deadline.removeEventListener('abort', this.giveUp);
    this.#asked?.removeEventListener('abort', this.giveUp);
  }

  /** Ends the request, whatever of it is under way. */
  readonly giveUp = (): void => this.#controller.abort();
}
