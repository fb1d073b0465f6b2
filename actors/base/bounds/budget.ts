// Shared budget of slots or bytes (A6, ARCHITECTURE.md). A holder may use at most as much as is still free.
// A single greedy holder gets half of the budget; with k active holders each gets 1/(k+1), and the same
// amount stays free for new holders. No shares have to be configured (Choudhury and Hahne, "Dynamic queue
// length thresholds for shared-memory packet switches", 1998). Usage never exceeds `total`. A holder without
// usage gets any amount that is free, so single amounts must be small compared with the total. Operations
// allocate nothing, and are cheap enough for each call.

/** Usage of one holder: a server, session or sender. Written only by the budgets of this folder. */
export class Share {
  used = 0;
}

export class Budget {
  readonly total: number;
  readonly #common: number;
  #taken = 0;

  /**
   * `total` is a number of slots or bytes. The first `common` of them can be acquired by any holder, for
   * budgets whose holder is usually alone.
   */
  constructor(total: number, common = 0) {
    this.total = total;
    this.#common = common;
  }

  get used(): number {
    return this.#taken;
  }

  get free(): number {
    return this.total - this.#taken;
  }

  /** Returns true if `amount` more is available for the holder. */
  hasCapacity(amount: number, share: Share): boolean {
    return this.#taken + amount <= this.#common || share.used + amount <= this.total - this.#taken;
  }

  /**
   * Acquires `amount` for a holder, or for two holders of different kinds: a call belongs to a server and a
   * session. It counts for both but is deducted once. Returns false, without a change, if either lacks
   * capacity.
   */
  acquire(amount: number, share: Share, other?: Share): boolean {
    if (!this.hasCapacity(amount, share) || (other !== undefined && !this.hasCapacity(amount, other)))
      return false;
    this.#taken += amount;
    share.used += amount;
    if (other !== undefined) other.used += amount;
    return true;
  }

  /**
   * Acquires `amount` for a holder and one of its clients. The usage of the client counts twice at the
   * holder, so other clients of the holder have capacity left while one client uses its whole share.
   */
  acquireFor(amount: number, share: Share, client: Share | undefined): boolean {
    return this.hasCapacity(amount + (client?.used ?? 0), share) && this.acquire(amount, share, client);
  }

  /** Releases an amount that was acquired for the same holders. */
  release(amount: number, share: Share, other?: Share): void {
    this.#taken -= amount;
    share.used -= amount;
    if (other !== undefined) other.used -= amount;
  }
}
