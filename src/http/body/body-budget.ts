// Memory budget for request bodies that are being received. All bodies share a budget; a body that does not
// fit is refused with 503. Another instance (unverified-body.ts) is for unverified senders: webhooks, whose
// signature covers the whole body, and the login form of the inspector. A body that arrives in one piece is
// not counted.
//
// - All bodies together use no more memory than the budget (A8, ARCHITECTURE.md); incoming-body.ts counts it.
// - A single address gets about half of the budget (A6, actors/base/bounds/budget.ts). IPv6 addresses are
//   grouped by their first 64 bits, which usually identify one host. Senders behind a proxy share an
//   address.
// - Memory is released when the body is complete, refused or aborted.

import { Budget, Share } from '../../../actors/base/bounds/budget.ts';

/** Size of the budget, in bodies of maximum size. Each address gets half: six. */
const LARGEST_BODIES = 12;
const MIN_BYTES = 64 * 1024 * 1024;

/** Memory for a single body within the budget. */
export interface Allowance {
  /** Reserves memory. Returns false if the budget is exhausted; the caller must not store the bytes then. */
  acquire(bytes: number): boolean;
  release(): void;
}

export class BodyBudget {
  readonly #budget: Budget;
  /** Shares of the networks that currently use memory. */
  readonly #shares = new Map<string, Share>();

  constructor(bytes: number) {
    this.#budget = new Budget(bytes);
  }

  /** Returns a budget for bodies of up to `maxBodyBytes`. */
  static for(maxBodyBytes: number): BodyBudget {
    return new BodyBudget(Math.max(MIN_BYTES, LARGEST_BODIES * maxBodyBytes));
  }

  get heldBytes(): number {
    return this.#budget.used;
  }

  /** Returns the allowance for a body of this sender. It has reserved no memory yet. */
  allowanceFor({ remoteAddress }: { readonly remoteAddress: string }): Allowance {
    const network = networkOf(remoteAddress);
    const share = this.#shares.get(network) ?? new Share();
    let held = 0;
    return {
      acquire: (bytes) => {
        if (!this.#budget.acquire(bytes, share)) return false;
        this.#shares.set(network, share);
        held += bytes;
        return true;
      },
      release: () => {
        this.#budget.release(held, share);
        held = 0;
        if (share.used === 0) this.#shares.delete(network);
      },
    };
  }
}

/**
 * Returns the first 64 bits if this is an IPv6 address, normalised. Returns other addresses, mapped IPv4
 * addresses and loopback unchanged.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::', 2);
  const groups = head === '' ? [] : head.split(':');
  const missing = tail === undefined ? 0 : 8 - groups.length - tail.split(':').length;
  const all = [...groups, ...new Array<string>(Math.max(0, missing)).fill('0'), ...(tail ?? '').split(':')];
  const first = all.slice(0, 4).map((group) => Number.parseInt(group || '0', 16));
  return first.every((group) => group === 0) ? address : first.map((group) => group.toString(16)).join(':');
}
