// Time limits of a client's request, in performance.now() milliseconds. While the client answers questions of
// the server (elicitation, sampling, roots), the limits pause. All pauses in a request together are bounded
// by MAX_PAUSE_MS, so a server cannot extend a request without end by asking again (A6, ARCHITECTURE.md).
// This class has no clock and no timer: the call (call.ts) sets a timer for `dueAt` after changes.

/** Time limits in milliseconds. Progress restarts `timeoutMs`, but `maxMs` is the total limit. */
export interface CallTimeouts {
  readonly timeoutMs: number;
  readonly maxMs: number;
}

/** Maximum total pause per request, and deadline per question, in milliseconds. */
export const MAX_PAUSE_MS = 600_000;

export class CallLimits {
  readonly #maxMs: number;
  readonly #startedAt: number;
  /** Time without progress; undefined while the request awaits the result of a task. */
  #timeoutMs: number | undefined;
  /** Time of the last progress, or of the last change from paused to running limits. */
  #activeAt: number;
  /** Keys of the current pauses. The limits run when it is empty. */
  readonly #pauses = new Set<object>();
  #pausedAt = 0;
  /** Duration of the completed pauses. */
  #pausedMs = 0;

  constructor({ timeoutMs, maxMs }: CallTimeouts, startedAt: number) {
    this.#timeoutMs = timeoutMs;
    this.#maxMs = maxMs;
    this.#startedAt = startedAt;
    this.#activeAt = startedAt;
  }

  /** Time at which the request fails, unless a later event changes it. */
  get dueAt(): number {
    const isPaused = this.#pauses.size > 0;
    // The current pause may use the rest of MAX_PAUSE_MS.
    const pausedMs = isPaused ? MAX_PAUSE_MS : this.#pausedMs;
    const lastAt = this.#startedAt + this.#maxMs + pausedMs;
    if (this.#timeoutMs === undefined) return lastAt;
    const runsFrom = isPaused ? Math.max(this.#activeAt, this.pauseEndsAt) : this.#activeAt;
    return Math.min(runsFrom + this.#timeoutMs, lastAt);
  }

  /** Time at which the limits run again, even if the client has not answered. Valid during a pause. */
  get pauseEndsAt(): number {
    return this.#pausedAt + MAX_PAUSE_MS - this.#pausedMs;
  }

  isPausedBy(key: object): boolean {
    return this.#pauses.has(key);
  }

  /** Restarts the timer for calls without progress. */
  touch(now: number): void {
    this.#activeAt = now;
  }

  /** Removes the limit of the time without progress. */
  awaitTask(): void {
    this.#timeoutMs = undefined;
  }

  /** Pauses the limits until `resume` with the same key. Pauses may overlap. */
  pause(key: object, now: number): void {
    if (this.#pauses.size === 0) this.#pausedAt = now;
    this.#pauses.add(key);
  }

  /** Ends one pause, or all without a key. */
  resume(key: object | undefined, now: number): void {
    if (this.#pauses.size === 0) return;
    if (key === undefined) this.#pauses.clear();
    else this.#pauses.delete(key);
    if (this.#pauses.size > 0) return;
    this.#pausedMs = Math.min(MAX_PAUSE_MS, this.#pausedMs + now - this.#pausedAt);
    this.#activeAt = now;
  }
}
