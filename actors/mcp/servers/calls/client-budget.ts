// Budget of slots or bytes, with a share (the used part) for each client (base/bounds/budget.ts). A client is
// a principal (authenticated identity) or a session (client-shares.ts). All unknown clients have one share.

import { Budget, Share } from '../../../base/bounds/budget.ts';

/** Divisor of the part of a server's slots that is divided among the clients. */
const SHARED_FRACTION = 8;

export class ClientBudget extends Budget {
  readonly #shares = new WeakMap<object, Share>();
  readonly #unknown = new Share();

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

/**
 * Returns the slots of one server, for calls in flight or private connections. Seven eighths are free for any
 * client, and the last eighth is divided, so one client cannot use all slots (A6, ARCHITECTURE.md). Below
 * eight slots one client may use all.
 */
export function serverSlots(total: number): ClientBudget {
  return new ClientBudget(total, total - Math.floor(total / SHARED_FRACTION));
}
