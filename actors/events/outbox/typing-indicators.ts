// Shows typing indicators while an answer is in progress, and marks messages as seen. Best effort: a failed
// or hanging call never affects a run. The number of concurrent calls is limited, in total and per platform;
// further calls are skipped. Each call has a timeout, and calls of the same run do not overlap. A short run
// shows no indicator.

import { Budget, Share } from '../../base/bounds/budget.ts';

/** Calls the platform. A rejection is ignored, and a hanging call is abandoned. */
export type Show = (signal: AbortSignal) => Promise<void>;

export interface TypingIndicatorsOptions {
  /** Delay before the first indicator. @default 300 */
  readonly afterMs?: number;
  /** Interval of checks for due indicators. @default 100 */
  readonly tickMs?: number;
  /** Limit of concurrent calls. @default 64 */
  readonly maxCalls?: number;
}

/** Timeout per call. */
const CALL_MS = 10_000;
/** Maximum time that a run's indicator is repeated. */
const LONGEST_MS = 900_000;
/** Renewal interval as a fraction of the indicator's duration. */
const RENEWAL = 0.8;

interface Indicator {
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
  /** Pending calls by platform. */
  readonly #shares = new Map<string, Share>();
  readonly #indicators = new Set<Indicator>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ afterMs = 300, tickMs = 100, maxCalls = 64 }: TypingIndicatorsOptions = {}) {
    this.#afterMs = afterMs;
    this.#tickMs = tickMs;
    this.#calls = new Budget(maxCalls);
  }

  /**
   * Calls `show` repeatedly until the returned function is called. The platform shows each indicator for
   * `lastsMs`.
   */
  begin(platform: string, lastsMs: number, show: Show, afterMs = this.#afterMs): () => void {
    const now = performance.now();
    const indicator: Indicator = {
      platform,
      show,
      everyMs: lastsMs * RENEWAL,
      endsAt: now + LONGEST_MS,
      nextAt: now + afterMs,
      isCalling: false,
    };
    this.#indicators.add(indicator);
    this.#timer ??= setInterval(this.#tick, this.#tickMs).unref();
    return () => this.#end(indicator);
  }

  /** Calls `show` once, if a slot is free. */
  once(platform: string, show: Show): void {
    void this.#call(platform, show);
  }

  readonly #tick = (): void => {
    const now = performance.now();
    for (const indicator of this.#indicators) {
      if (now >= indicator.endsAt) this.#end(indicator);
      else if (now >= indicator.nextAt && !indicator.isCalling) {
        indicator.nextAt = now + indicator.everyMs;
        indicator.isCalling = true;
        void this.#call(indicator.platform, indicator.show).finally(() => {
          indicator.isCalling = false;
        });
      }
    }
  };

  async #call(platform: string, show: Show): Promise<void> {
    const share = this.#shares.get(platform) ?? new Share();
    if (!this.#calls.acquire(1, share)) return;
    this.#shares.set(platform, share);
    try {
      await within(CALL_MS, show);
    } catch {
      // Errors never affect the run.
    } finally {
      this.#calls.release(1, share);
      if (share.used === 0) this.#shares.delete(platform);
    }
  }

  #end(indicator: Indicator): void {
    this.#indicators.delete(indicator);
    if (this.#indicators.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** Calls `show`, and stops waiting for it after `ms`, even if the call ignores its signal. */
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
