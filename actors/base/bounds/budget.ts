// A budget that many spend from: places, or bytes. It bounds all of them together, and sees to it that none of them can
// use it up: whoever holds much gets more only while as much again is free. A greedy holder alone ends at half of the
// total; of k that give back and take again each comes to 1/(k+1), and so does what stays free for whoever is new or holds
// little; k that give nothing back leave 1/2^k. No share has to be configured, and none lies idle (dynamic thresholds;
// Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", 1998).
//
// Taking and giving back cost a few comparisons and allocate nothing: a call can afford them.
//
// BU1 (A8)  what is taken is never more than `total`.
// BU2 (A6)  beyond the common part a holder gets more only where what it would then hold is no more than what was free.
// BU3       whoever holds nothing is given what it asks for, as long as that is free. So single amounts must be small beside
//           the total: one as large as the total does use it up.

/** What one holder has of a budget: a server, a session, a sender. Only the budget writes it, and HeldBytes. */
export class Share {
  held = 0;
}

export class Budget {
  readonly total: number;
  readonly #common: number;
  #taken = 0;

  /**
   * `total` in whatever unit is counted: places, bytes. The first `common` of it goes to whoever asks, and only what is
   * left then by the rule: for those who are alone as a rule, and want it all.
   */
  constructor(total: number, common = 0) {
    this.total = total;
    this.#common = common;
  }

  get taken(): number {
    return this.#taken;
  }

  get free(): number {
    return this.total - this.#taken;
  }

  /** Whether `amount` more is there for this holder. */
  hasRoom(amount: number, share: Share): boolean {
    return this.#taken + amount <= this.#common || share.held + amount <= this.total - this.#taken;
  }

  /**
   * Takes `amount` for a holder, or for two of different kinds at once (a call is its server's and its session's), where it
   * is counted for each but taken once. False when there is not enough for one of them: then nothing was taken.
   */
  take(amount: number, share: Share, other?: Share): boolean {
    if (!this.hasRoom(amount, share) || (other !== undefined && !this.hasRoom(amount, other))) return false;
    this.#taken += amount;
    share.held += amount;
    if (other !== undefined) other.held += amount;
    return true;
  }

  /** Gives back what was taken for the same holders. */
  give(amount: number, share: Share, other?: Share): void {
    this.#taken -= amount;
    share.held -= amount;
    if (other !== undefined) other.held -= amount;
  }
}
