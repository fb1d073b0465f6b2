// Concurrency limit for tool calls, which share a disk, a browser page or a token. Excess calls queue in the
// order of arrival; if the queue is full, a call fails immediately. Cancellation removes a call from the
// queue. A running call uses its slot until its work completes, even after cancellation.

import { ToolError } from './tool-error.ts';

const MAX_WAITING = 256;

export class CallGate {
  readonly #concurrency: number;
  readonly #maxWaiting: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  #whenIdle: (() => void) | undefined;

  constructor(concurrency: number, maxWaiting = MAX_WAITING) {
    this.#concurrency = concurrency;
    this.#maxWaiting = maxWaiting;
  }

  /**
   * Runs `work` when a slot is free, and returns its result.
   * @throws ToolError if the queue is full; the reason of `signal` if it is aborted before a slot is free
   */
  async run<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    await this.#enter(signal);
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else if (--this.#running === 0) this.#whenIdle?.();
    }
  }

  /** Resolves when no call is running. Never times out. */
  whenIdle(): Promise<void> {
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenIdle = resolve;
    });
  }

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#running < this.#concurrency) {
      this.#running++;
      return;
    }
    if (this.#waiting.length >= this.#maxWaiting)
      throw new ToolError(
        `Too many concurrent calls: ${this.#maxWaiting} are waiting. Retry when some of them have completed.`,
      );
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(start), 1);
        reject(signal.reason);
      };
      const start = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      this.#waiting.push(start);
      signal.addEventListener('abort', leave, { once: true });
    });
  }
}
