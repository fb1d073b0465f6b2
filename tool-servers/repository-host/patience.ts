// How long one tool call may wait for the host's limits, all its waits together. While it waits it says so, so that the
// client's own deadline can move on; a wait that would be too long is not begun at all.

import { setTimeout as delay } from 'node:timers/promises';
import type { ToolCall } from '../tool.ts';

const REPORT_EVERY_MS = 5_000;

export class Patience {
  readonly #call: ToolCall;
  readonly #startedAt = performance.now();
  #leftMs: number;

  constructor(call: ToolCall, maxWaitMs: number) {
    this.#call = call;
    this.#leftMs = maxWaitMs;
  }

  allows(waitMs: number): boolean {
    return waitMs <= this.#leftMs;
  }

  /** Waits, telling `what` for; rejects when the call is cancelled. */
  async wait(waitMs: number, what: string): Promise<void> {
    this.#leftMs -= waitMs;
    const until = performance.now() + waitMs;
    for (;;) {
      const restMs = until - performance.now();
      // Timers may fire a moment early.
      if (restMs < 2) return;
      const message = `Waiting ${Math.ceil(restMs / 1000)} s for ${what}.`;
      this.#call.report((performance.now() - this.#startedAt) / 1000, undefined, message);
      await delay(Math.min(restMs + 1, REPORT_EVERY_MS), undefined, { signal: this.#call.signal });
    }
  }
}
