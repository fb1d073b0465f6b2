// Bounds the memory for request bodies that are being received. They share one budget, of which each address has a share; a body
// for which there is no room is refused and may be sent again. Bodies of unverified senders have a separate budget: those of
// webhooks, whose signature covers the whole body, and of the form for the inspector's key. A body that comes in one piece
// needs no room.
//
// BB1 (A8)  all of them together hold no more than the budget, in memory as it is (incoming-body.ts).
// BB2 (A6)  one address gets half of it at most (actors/base/bounds/budget.ts). IPv6 addresses are grouped by their first 64 bits, which
//           one host usually controls. The address is that of the socket: behind a proxy all senders are one.
// BB3       what was taken is given back when the body is whole, refused or gone.

import { Budget, Share } from '../../../actors/base/bounds/budget.ts';

/** Six of the largest find room at once although an address gets half only. */
const LARGEST = 12;
const MIN_BYTES = 64 * 1024 * 1024;

/** The part of one request. */
export interface Allowance {
  /** False when there is not as much: then nothing more is to be kept. */
  take(bytes: number): boolean;
  giveBack(): void;
}

export class BodyBudget {
  readonly #budget: Budget;
  /** Of those who hold something. */
  readonly #shares = new Map<string, Share>();

  constructor(bytes: number) {
    this.#budget = new Budget(bytes);
  }

  /** For bodies of up to `maxBodyBytes`. */
  static for(maxBodyBytes: number): BodyBudget {
    return new BodyBudget(Math.max(MIN_BYTES, LARGEST * maxBodyBytes));
  }

  get heldBytes(): number {
    return this.#budget.taken;
  }

  /** To be called with the first piece that takes something. */
  allowanceFor({ remoteAddress }: { readonly remoteAddress: string }): Allowance {
    const network = networkOf(remoteAddress);
    const share = this.#shares.get(network) ?? new Share();
    let held = 0;
    return {
      take: (bytes) => {
        if (!this.#budget.take(bytes, share)) return false;
        this.#shares.set(network, share);
        held += bytes;
        return true;
      },
      giveBack: () => {
        this.#budget.give(held, share);
        held = 0;
        if (share.held === 0) this.#shares.delete(network);
      },
    };
  }
}

/** Of IPv6 the first half in one way of writing; but IPv4 in IPv6, and loopback, whole. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::', 2);
  const groups = head === '' ? [] : head.split(':');
  const missing = tail === undefined ? 0 : 8 - groups.length - tail.split(':').length;
  const all = [...groups, ...new Array<string>(Math.max(0, missing)).fill('0'), ...(tail ?? '').split(':')];
  const first = all.slice(0, 4).map((group) => Number.parseInt(group || '0', 16));
  return first.every((group) => group === 0) ? address : first.map((group) => group.toString(16)).join(':');
}
