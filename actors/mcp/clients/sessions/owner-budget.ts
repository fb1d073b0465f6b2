// Divides the capacity for sessions, listen streams or stored session records among their owners. An owner is
// a principal (verified sender, or anonymous) at a client address. The use of a principal, or of an address,
// may grow only while more than this use is free (base/bounds/budget.ts). A single owner therefore gets half,
// and cannot exclude others.

import { Budget, Share } from '../../../base/bounds/budget.ts';
import { type LimitUsage, largestHolders } from '../../../base/bounds/limit-usage.ts';

/** Client that owns sessions, listen streams or records of sessions. */
export interface SessionOwner {
  readonly principal: string;
  /** Network address; empty for a client of this process. */
  readonly client: string;
}

export class OwnerBudget {
  readonly #budget: Budget;
  readonly #shares = { principal: new Map<string, Share>(), client: new Map<string, Share>() };

  constructor(total: number) {
    this.#budget = new Budget(total);
  }

  get used(): number {
    return this.#budget.used;
  }

  /** Usage by principal. */
  get usage(): LimitUsage {
    const usages = [...this.#shares.principal].map(
      ([name, { used }]) => [`principal ${name}`, used] as const,
    );
    return { used: this.used, max: this.#budget.total, holders: largestHolders(usages) };
  }

  /** Reserves an amount. Returns false, without a change, if the principal or the client lacks capacity. */
  acquire({ principal, client }: SessionOwner, amount: number): boolean {
    const principalShare = this.#shares.principal.get(principal) ?? new Share();
    const clientShare = this.#shares.client.get(client) ?? new Share();
    if (!this.#budget.acquire(amount, principalShare, clientShare)) return false;
    this.#shares.principal.set(principal, principalShare);
    this.#shares.client.set(client, clientShare);
    return true;
  }

  release({ principal, client }: SessionOwner, amount: number): void {
    const principalShare = this.#shares.principal.get(principal);
    const clientShare = this.#shares.client.get(client);
    if (principalShare === undefined || clientShare === undefined) return;
    this.#budget.release(amount, principalShare, clientShare);
    if (principalShare.used === 0) this.#shares.principal.delete(principal);
    if (clientShare.used === 0) this.#shares.client.delete(client);
  }

  /**
   * Returns the cause of a failed `acquire`: the share of the owner's principal, or of its client address.
   * Removed entries of this principal or address free capacity for the owner.
   */
  lacking({ principal }: SessionOwner, amount: number): keyof SessionOwner {
    const share = this.#shares.principal.get(principal) ?? new Share();
    return this.#budget.hasCapacity(amount, share) ? 'client' : 'principal';
  }
}
