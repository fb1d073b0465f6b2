// Slots of one server: calls in flight or private connections. Seven eighths are free for any client, and the
// last eighth is divided among the clients (base/bounds/budget.ts), so one client cannot use all slots (A6,
// ARCHITECTURE.md). Below eight slots one client may use all.

import { Budget, Share } from '../../../base/bounds/budget.ts';

/** Divisor of the part of the slots that is divided among the clients. */
const SHARED_FRACTION = 8;

export class ClientSlots extends Budget {
  readonly #shares = new WeakMap<object, Share>();
  /** Share of unknown clients, which count as one client. */
  readonly #unknown = new Share();

  constructor(total: number) {
    super(total, total - Math.floor(total / SHARED_FRACTION));
  }

  /** Returns the share of a principal or session (client-shares.ts). */
  shareOf(client: object | undefined): Share {
    if (client === undefined) return this.#unknown;
    let share = this.#shares.get(client);
    if (share === undefined) {
      share = new Share();
      this.#shares.set(client, share);
    }
    return share;
  }
}
