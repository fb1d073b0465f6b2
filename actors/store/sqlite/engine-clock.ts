// The engine's time, from one transaction to the next: the system clock, compared with a monotonic clock to notice when somebody
// has set it.
//
// EC1  a step back by less than CLOCK_STEP_MS is not followed: time stands still until the system clock has caught up.
// EC2  the time that both clocks have measured has passed; a difference between them is how far the system clock was set.

/** When a transaction began. */
export interface Moment {
  /** Epoch ms. */
  readonly time: number;
  /** By the clock that nobody can set. */
  readonly uptimeMs: number;
  /** By how much the clock was set since the moment before; 0 for steps that are too small to be noticed. */
  readonly setByMs: number;
}

/** Before the first one. */
export const NO_MOMENT: Moment = { time: 0, uptimeMs: 0, setByMs: 0 };

/** A clock that is set by less is not noticed; one that is set back by less is waited for. */
const CLOCK_STEP_MS = 1_000;

export class EngineClock {
  readonly #now: () => number;
  readonly #uptime: (() => number) | undefined;

  /** `now` gives epoch ms, `uptime` milliseconds that only grow; without it all of what `now` goes forward has passed. */
  constructor(now: () => number, uptime: (() => number) | undefined) {
    this.#now = now;
    this.#uptime = uptime;
  }

  /** The present moment, given the last one that counted. */
  after(last: Moment): Moment {
    const clock = this.#now();
    const uptimeMs = this.#uptime?.() ?? last.uptimeMs + Math.max(0, clock - last.time);
    const setByMs = last === NO_MOMENT ? 0 : clock - last.time - (uptimeMs - last.uptimeMs);
    if (Math.abs(setByMs) > CLOCK_STEP_MS) return { time: clock, uptimeMs, setByMs };
    return { time: Math.max(last.time, clock), uptimeMs, setByMs: 0 };
  }
}
