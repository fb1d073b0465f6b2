// Shows on a platform that an answer is being made, for as long as a run lasts, and that a message was seen.
//
// TY1  nothing waits for it: what such a call fails with, or that it does not end, is of no consequence for the run.
// TY2  at most so many calls are under way, and no platform that hangs has all of them; each has a deadline, and a run has one
//      at a time. What finds no room is left out.
// TY3  there is one timer for all runs, and none while nothing is shown; a run that ends within a moment shows nothing.

import { Budget, Share } from '../../base/bounds/budget.ts';

/** Best effort; rejects, or never ends, without effect. */
export type Show = (signal: AbortSignal) => Promise<void>;

export interface TypingIndicatorsOptions {
  /** Until the first is shown. @default 300 */
  readonly afterMs?: number;
  /** @default 100 */
  readonly tickMs?: number;
  /** @default 64 */
  readonly maxCalls?: number;
}

/** Of one call. */
const CALL_MS = 10_000;
/** A run that takes longer than this surprises nobody by saying nothing. */
const LONGEST_MS = 900_000;
/** It is shown again so much before it would go out. */
const AHEAD = 0.8;

interface Shown {
  readonly platform: string;
  readonly show: Show;
  readonly everyMs: number;
  readonly endsAt: number;
  nextAt: number;
  isCalling: boolean;
}

export class TypingIndicators {
  readonly #afterMs: number;
  readonly #tickMs: number;
  readonly #calls: Budget;
  /** Of each platform; only those with calls under way. */
  readonly #shares = new Map<string, Share>();
  readonly #shown = new Set<Shown>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ afterMs = 300, tickMs = 100, maxCalls = 64 }: TypingIndicatorsOptions = {}) {
    this.#afterMs = afterMs;
    this.#tickMs = tickMs;
    this.#calls = new Budget(maxCalls);
  }

  /** Repeats `show`, whose effect lasts for so long, until the function it gives is called. */
  begin(platform: string, lastsMs: number, show: Show, afterMs = this.#afterMs): () => void {
    const now = performance.now();
    const shown: Shown = {
      platform,
      show,
      everyMs: lastsMs * AHEAD,
      endsAt: now + LONGEST_MS,
      nextAt: now + afterMs,
      isCalling: false,
    };
    this.#shown.add(shown);
    this.#timer ??= setInterval(this.#tick, this.#tickMs).unref();
    return () => this.#end(shown);
  }

  /** Calls it now, once, if there is room. */
  once(platform: string, show: Show): void {
    void this.#call(platform, show);
  }

  readonly #tick = (): void => {
    const now = performance.now();
    for (const shown of this.#shown) {
      if (now >= shown.endsAt) this.#end(shown);
      else if (now >= shown.nextAt && !shown.isCalling) {
        shown.nextAt = now + shown.everyMs;
        shown.isCalling = true;
        void this.#call(shown.platform, shown.show).finally(() => {
          shown.isCalling = false;
        });
      }
    }
  };

  async #call(platform: string, show: Show): Promise<void> {
    const share = this.#shares.get(platform) ?? new Share();
    if (!this.#calls.take(1, share)) return;
    this.#shares.set(platform, share);
    try {
      await within(CALL_MS, show);
    } catch {
      // TY1.
    } finally {
      this.#calls.give(1, share);
      if (share.held === 0) this.#shares.delete(platform);
    }
  }

  #end(shown: Shown): void {
    this.#shown.delete(shown);
    if (this.#shown.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** One that does not heed its signal is not waited for either. */
async function within(ms: number, show: Show): Promise<void> {
  const deadline = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  try {
    const over = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms).unref();
    });
    await Promise.race([show(deadline.signal), over]);
  } finally {
    clearTimeout(timer);
    deadline.abort();
  }
}
