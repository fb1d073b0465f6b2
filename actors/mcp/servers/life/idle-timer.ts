// Reports when a server had no calls for half of the idle timeout, and for the whole timeout. Each server has
// a single timer, set to the next relevant time; a call only records when it happened.

export interface IdleTimerOptions {
  /** 0 disables the timer. */
  readonly idleTimeoutMs: number;
  /** Returns true if something other than calls keeps the server in use. */
  readonly isBusy: () => boolean;
  /** performance.now() of the last call. */
  readonly lastUsedAt: () => number;
  readonly onQuiet: (span: 'half' | 'whole') => void;
}

/** Minimum delay. The timer may fire slightly early, and must not fire again and again. */
const MIN_WAIT_MS = 10;

export class IdleTimer {
  readonly #options: IdleTimerOptions;
  #timer: NodeJS.Timeout | undefined;
  /** Time of the last call for which `half` was reported, to report it once. */
  #halfReportedFor = -1;

  constructor(options: IdleTimerOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#options.idleTimeoutMs > 0 && this.#timer === undefined)
      this.#arm(this.#options.idleTimeoutMs / 2);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #arm(waitMs: number): void {
    this.#timer = setTimeout(() => this.#check(), Math.max(MIN_WAIT_MS, waitMs));
    this.#timer.unref();
  }

  #check(): void {
    this.#timer = undefined;
    const { idleTimeoutMs, isBusy, lastUsedAt, onQuiet } = this.#options;
    const halfMs = idleTimeoutMs / 2;
    if (isBusy()) {
      this.#arm(halfMs);
      return;
    }
    const usedAt = lastUsedAt();
    const quietMs = performance.now() - usedAt;
    if (quietMs >= idleTimeoutMs) {
      onQuiet('whole');
      return;
    }
    if (quietMs < halfMs) {
      this.#arm(halfMs - quietMs);
      return;
    }
    this.#arm(idleTimeoutMs - quietMs);
    if (this.#halfReportedFor === usedAt) return;
    this.#halfReportedFor = usedAt;
    onQuiet('half');
  }
}
