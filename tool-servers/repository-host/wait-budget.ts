// Budget for the time that a tool call waits for rate limits. Waits report progress, so clients extend their
// timeout. Callers check `allows` first: a wait that exceeds the budget must not start.

import { setTimeout as delay } from 'node:timers/promises';
import type { ServerToolCall } from '../tool.ts';

const REPORT_EVERY_MS = 5_000;

export class WaitBudget {
  readonly #call: ServerToolCall;
  readonly #startedAt = performance.now();
  #remainingMs: number;

  constructor(call: ServerToolCall, maxWaitMs: number) {
    this.#call = call;
    this.#remainingMs = maxWaitMs;
  }

  allows(waitMs: number): boolean {
    return waitMs <= this.#remainingMs;
  }

  /** Waits. The reports complete "Waiting 5 s for …" with `reason`. Rejects on cancellation. */
  async wait(waitMs: number, reason: string): Promise<void> {
    this.#remainingMs -= waitMs;
    const endMs = performance.now() + waitMs;
    for (;;) {
      const restMs = endMs - performance.now();
      // Timers may fire slightly early: less than 2 ms counts as waited.
      if (restMs < 2) return;
      const message = `Waiting ${Math.ceil(restMs / 1000)} s for ${reason}.`;
      this.#call.report((performance.now() - this.#startedAt) / 1000, undefined, message);
      await delay(Math.min(restMs + 1, REPORT_EVERY_MS), undefined, { signal: this.#call.signal });
    }
  }
}
