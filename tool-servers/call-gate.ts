// How many calls of one tool server run at a time. A model may send as many calls as it likes at once; they all share one
// disk, one browser page or one token, so the rest waits in order, and beyond the bound a call is refused at once.
//
// 1. Never more than `concurrency` calls run. 2. Waiting calls start in the order in which they came.
// 3. A call that is cancelled while it waits leaves the line; one that runs has its place until its work has ended.

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
   * Runs `work` when its turn comes and gives its result.
   * @throws ToolError when too many calls wait already; the reason of `signal` when it ends the wait
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

  /** Resolves when no call runs. Has no deadline of its own. */
  idle(): Promise<void> {
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
        `Too many calls at once: ${this.#maxWaiting} wait already. Call again when some are answered.`,
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
