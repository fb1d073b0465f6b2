// One list of a server, bounded. A server may list without end: each list is bounded in items and bytes, and the lists
// of all servers together in bytes. What was cut off is known, so that it can be told.
//
// LH1 (A8)  a list holds at most MAX_ITEMS items and MAX_LIST_BYTES; all of them together hold what their budget has.
// LH2       what was taken of the budget is given back once: when the list is replaced or given up, or its server goes.
// LH3 (A6)  no server can take the budget for itself (actors/base/bounds/budget.ts).

import { Budget, Share } from '../../../base/bounds/budget.ts';
import { FaultCollector } from './item-faults.ts';
import { heldBytes, type ListItem } from './lists.ts';

export const MAX_ITEMS = 10_000;
export const MAX_LIST_BYTES = 8 * 1024 * 1024;
/** Over the lists of all servers. */
export const ALL_LIST_BYTES = 128 * 1024 * 1024;

/** Why the rest of a list was left out. */
export type Cut = 'too_many' | 'too_large' | 'cycle' | 'gateway_full';

const mebibytes = (bytes: number) => `${bytes / 1024 / 1024} MiB`;

/** What has happened, and what to do about it. */
export const cutMessages: Readonly<Record<Cut, string>> = {
  too_many: `the server lists more than ${MAX_ITEMS} items, or on too many pages: the rest is left out; have it list less`,
  too_large: `the list is larger than ${mebibytes(MAX_LIST_BYTES)}, or its pages or cursors are far larger than their items: the rest is left out; have the server list less, or shorter items`,
  cycle:
    'the server gave a cursor that it had given before, so that its list has no end: it was read up to there; tell the author of the server',
  gateway_full: `the lists of all servers together may take ${mebibytes(ALL_LIST_BYTES)}, and are too near to that: the rest is left out, or an older list is kept; take servers with long lists out of the catalog`,
};

/** The lists of one server, as one holder of the budget. */
export class ListBudget {
  readonly #budget: Budget;
  readonly #share = new Share();

  constructor(budget: Budget = new Budget(ALL_LIST_BYTES)) {
    this.#budget = budget;
  }

  /** A list to be filled. */
  newList(): BoundedList {
    return new BoundedList(this.#budget, this.#share);
  }
}

export class BoundedList {
  readonly items: ListItem[] = [];
  /** Why there are no more items; nothing is taken in any more. */
  cut: Cut | undefined;
  /** Faults of elements that are invalid items or invalid UTF-8. */
  readonly unreadable = new FaultCollector();
  readonly #budget: Budget;
  readonly #share: Share;
  #bytes = 0;

  constructor(budget: Budget, share: Share) {
    this.#budget = budget;
    this.#share = share;
  }

  /** Takes the item in, or is cut off before it. */
  add(item: ListItem): void {
    if (this.cut !== undefined) return;
    const size = heldBytes(item);
    if (this.items.length === MAX_ITEMS) this.cut = 'too_many';
    else if (this.#bytes + size > MAX_LIST_BYTES) this.cut = 'too_large';
    else if (!this.#budget.take(size, this.#share)) this.cut = 'gateway_full';
    else {
      this.#bytes += size;
      this.items.push(item);
    }
  }

  /** Takes memory for data derived from the items; returns false when the budget is exhausted. */
  reserve(bytes: number): boolean {
    if (!this.#budget.take(bytes, this.#share)) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Nobody holds the items any more. */
  release(): void {
    this.#budget.give(this.#bytes, this.#share);
    this.#bytes = 0;
  }
}
