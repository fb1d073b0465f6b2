// Rate limiter for a credential, shared by all clients of a platform's API. Platforms limit the credential,
// not the message, so a refusal holds all requests.
//
// After a refusal, requests are held for the announced duration; then probes are sent one by one, until one
// succeeds. The class never blocks: each delayed caller receives a retry time, in the order of the calls, and
// new callers are queued after them. Slots are `everyMs` apart; up to `burst` unused slots can be used
// together. A late caller uses the slot of its retry time. A hold lasts at most an hour of the monotonic
// clock.

const MAX_HOLD_MS = 3_600_000;
/** Delay after which an absent caller's slot is dropped. */
const LATE_MS = 10_000;
/** Maximum number of announced retry times; later callers share the last one. */
const MAX_TIMES = 10_000;

export class RateLimiter {
  readonly #everyMs: number;
  readonly #now: () => number;
  /** Time by which a burst may precede its slots, in milliseconds. */
  readonly #aheadMs: number;
  #heldUntil = 0;
  /** True if a request has succeeded since the last refusal. */
  #isProven = true;
  #isProbing = false;
  /** Earliest next slot, unless a burst is available. */
  #nextAt = 0;
  /** Announced times, earliest first. */
  #times: number[] = [];

  /** `now` returns monotonic milliseconds. */
  constructor(everyMs: number, now = () => performance.now(), burst = 1) {
    this.#everyMs = everyMs;
    this.#aheadMs = (burst - 1) * everyMs;
    this.#now = now;
  }

  /** True from a refusal until the announced time has passed and a probe has succeeded. */
  get isHeld(): boolean {
    return this.#now() < this.#heldUntil || this.#isProbing;
  }

  /** Delay for a new caller, in milliseconds; 0 = none. */
  get waitMs(): number {
    return Math.max(0, Math.max(this.#heldUntil, this.#nextAt - this.#aheadMs) - this.#now());
  }

  /** Reserves a slot. Returns undefined on success, otherwise the pause before a retry, in milliseconds. */
  reserveSlot(): number | undefined {
    const now = this.#now();
    while (this.#times[0] !== undefined && this.#times[0] < now - LATE_MS) this.#times.shift();
    const [first] = this.#times;
    if (this.isHeld || now < this.#nextAt - this.#aheadMs || (first !== undefined && first > now))
      return this.postpone();
    this.#nextAt = Math.max(this.#nextAt, this.#times.shift() ?? now) + this.#everyMs;
    return undefined;
  }

  /** Returns the pause before a retry, at least `atLeastMs`. */
  postpone(atLeastMs = 0): number {
    const now = this.#now();
    const last = Math.max(this.#times.at(-1) ?? 0, this.isHeld ? Math.max(now, this.#heldUntil) : 0);
    const time = Math.max(
      now + atLeastMs,
      this.#nextAt - this.#aheadMs,
      last === 0 ? 0 : last + this.#everyMs,
    );
    if (this.#times.length < MAX_TIMES) this.#times.push(time);
    return time - now;
  }

  /**
   * Runs a request; requires that `isHeld` is false. `refusedForMs` returns the pause if an error is a rate
   * limit, otherwise undefined.
   */
  async run<T>(request: () => Promise<T>, refusedForMs: (error: unknown) => number | undefined): Promise<T> {
    const isProbe = !this.#isProven;
    if (isProbe) this.#isProbing = true;
    try {
      const answer = await request();
      if (isProbe) this.#isProven = true;
      return answer;
    } catch (error) {
      const ms = refusedForMs(error);
      if (ms !== undefined) this.hold(ms);
      throw error;
    } finally {
      if (isProbe) this.#isProbing = false;
    }
  }

  /** Holds all requests for a duration. The refused request is first afterwards. */
  hold(ms: number): void {
    const until = this.#now() + Math.min(MAX_HOLD_MS, ms);
    this.#isProven = false;
    if (until <= this.#heldUntil) return;
    this.#heldUntil = until;
    this.#times = [until, ...this.#times.filter((time) => time > until)];
  }
}
