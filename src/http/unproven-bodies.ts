// Memory for bodies of which nobody knows yet who sent them: of webhooks, whose signature is over the whole body, and of the
// form in which the inspector's key is entered. They have one budget together, and each address a share of it; who gets none
// is told to come again. What comes in one piece is judged at once, and takes nothing.
//
// UB1 (A8)  all of them together hold no more than the budget; so does what is paid for each piece, however small.
// UB2 (A6)  one address gets half of it at most (actors/budget.ts). Of IPv6 the first 64 bits are one, since who has any of
//           those addresses has them all. The address is that of the socket: behind a proxy all senders are one.
// UB3       what was taken is given back when the body is judged, refused or gone.

import { Budget, Share } from '../../actors/budget.ts';

/** What a piece costs beside its bytes, roughly. */
const PIECE_BYTES = 256;

/** The part of one request. */
export interface Allowance {
  /** False when there is not as much: then nothing more is to be kept. */
  take(bytes: number): boolean;
  giveBack(): void;
}

export class UnprovenBodies {
  readonly #budget: Budget;
  /** Of those who hold something. */
  readonly #shares = new Map<string, Share>();

  constructor(bytes: number) {
    this.#budget = new Budget(bytes);
  }

  get heldBytes(): number {
    return this.#budget.taken;
  }

  /** The address is read with the first piece that takes something. */
  allowanceFor(sender: { readonly remoteAddress: string }): Allowance {
    let network = '';
    let share: Share | undefined;
    let held = 0;
    return {
      take: (bytes) => {
        if (share === undefined) {
          network = networkOf(sender.remoteAddress);
          share = this.#shares.get(network) ?? new Share();
        }
        const cost = bytes + PIECE_BYTES;
        if (!this.#budget.take(cost, share)) return false;
        this.#shares.set(network, share);
        held += cost;
        return true;
      },
      giveBack: () => {
        if (share === undefined || held === 0) return;
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
