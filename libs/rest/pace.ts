// How fast one credential may be used, by every client of a platform's API. What a platform refuses because it was asked too much
// it refuses to the credential, not to the message: so all that goes out under it waits, and a single request finds out whether
// that is over.
//
// PE1  after a refusal nothing leaves before its time; then one request at a time, until one has been carried out.
// PE2  who may not go is told at once when to come again, each at a time of its own, in the order in which they asked; nobody
//      waits here, nor holds a place meanwhile. Who comes anew goes behind those who were told a time.
// PE3  turns are `everyMs` apart, or later, but for a `burst` of them that nobody has taken; of one that comes late at the
//      time it was told the time counts.
// PE4  no hold is longer than an hour, and the clock it goes by is one that nobody sets.

const LONGEST_MS = 3_600_000;
/** Whoever is later than this at the time it was told does not come any more. */
const LATE_MS = 10_000;
/** Of times that are told; those beyond share one. */
const MAX_TIMES = 10_000;

export class Pace {
  readonly #everyMs: number;
  readonly #now: () => number;
  /** By so much turns may come before their time. */
  readonly #aheadMs: number;
  #heldUntil = 0;
  /** Nothing was refused since something was carried out. */
  #isProven = true;
  #isProbing = false;
  /** No turn before this, but for the burst. */
  #nextAt = 0;
  /** Told to those who are to come again, the earliest first. */
  #times: number[] = [];

  /** `now` gives milliseconds that only grow. */
  constructor(everyMs: number, now = () => performance.now(), burst = 1) {
    this.#everyMs = everyMs;
    this.#aheadMs = (burst - 1) * everyMs;
    this.#now = now;
  }

  /** Nothing may leave: it was refused, and the time is not over, or it is being found out whether it is. */
  get isHeld(): boolean {
    return this.#now() < this.#heldUntil || this.#isProbing;
  }

  /** How long it is until somebody who was told no time may take a turn; 0: now. */
  get waitMs(): number {
    return Math.max(0, Math.max(this.#heldUntil, this.#nextAt - this.#aheadMs) - this.#now());
  }

  /** Takes a turn: undefined when that is now, else the pause before the caller may come again, in ms. */
  takeTurn(): number | undefined {
    const now = this.#now();
    while (this.#times[0] !== undefined && this.#times[0] < now - LATE_MS) this.#times.shift();
    const [first] = this.#times;
    if (this.isHeld || now < this.#nextAt - this.#aheadMs || (first !== undefined && first > now))
      return this.putOff();
    this.#nextAt = Math.max(this.#nextAt, this.#times.shift() ?? now) + this.#everyMs;
    return undefined;
  }

  /** The pause before the caller may come again, which is `atLeastMs` or longer. */
  putOff(atLeastMs = 0): number {
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
   * Has a request leave, which must not be held. `refusedForMs` says of an error for how long the platform takes nothing
   * more from this credential, if that is what it says.
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

  /** The platform takes nothing more for so long. The first turn after it is for the one that was refused, if one was. */
  hold(ms: number): void {
    const until = this.#now() + Math.min(LONGEST_MS, ms);
    this.#isProven = false;
    if (until <= this.#heldUntil) return;
    this.#heldUntil = until;
    this.#times = [until, ...this.#times.filter((time) => time > until)];
  }
}
