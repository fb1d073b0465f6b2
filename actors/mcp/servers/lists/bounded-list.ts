// A server's list with limits, because servers may return endless lists. The limits are MAX_ITEMS items and
// MAX_LIST_BYTES per list, and a memory budget for all lists (A8, ARCHITECTURE.md) that no server can exhaust
// (A6, budget.ts). A list that reaches a limit is truncated ("cut"), and the reason is stored with it.
// `release` returns its memory.

import { Budget, Share } from '../../../base/bounds/budget.ts';
import { FaultCollector } from './item-faults.ts';
import { itemBytes, type ListItem } from './lists.ts';

export const MAX_ITEMS = 10_000;
export const MAX_LIST_BYTES = 8 * 1024 * 1024;
/** Budget for all servers' lists, in bytes. */
export const ALL_LIST_BYTES = 128 * 1024 * 1024;

/** Reason why a list is incomplete. */
export type TruncationReason = 'too_many' | 'too_large' | 'cycle' | 'gateway_full';

const mebibytes = (bytes: number) => `${bytes / 1024 / 1024} MiB`;

/** Explanations for the log: fact and remedy. */
export const cutMessages: Readonly<Record<TruncationReason, string>> = {
  too_many: `the server lists more than ${MAX_ITEMS} items, or on too many pages: the rest is omitted; reduce the list`,
  too_large: `the list is larger than ${mebibytes(MAX_LIST_BYTES)}, or its pages or cursors are far larger than their items: the rest is omitted; reduce the list or shorten its items`,
  cycle:
    'the server repeats a cursor, so its list has no end: it was read up to there; report this to the author of the server',
  gateway_full: `the lists of all servers together are near their limit of ${mebibytes(ALL_LIST_BYTES)}: the rest is omitted, or an older list is kept; remove servers with long lists from the catalog`,
};

/** The part of the list budget that one server uses. */
export class ListBudget {
  readonly #budget: Budget;
  readonly #share = new Share();

  constructor(budget: Budget = new Budget(ALL_LIST_BYTES)) {
    this.#budget = budget;
  }

  newList(): BoundedList {
    return new BoundedList(this.#budget, this.#share);
  }
}

export class BoundedList {
  readonly items: ListItem[] = [];
  /** Reason why the list is truncated. Once set, no items are added. */
  cut: TruncationReason | undefined;
  /** Elements that are no valid items or no valid UTF-8. */
  readonly unreadable = new FaultCollector();
  readonly #budget: Budget;
  readonly #share: Share;
  #bytes = 0;

  constructor(budget: Budget, share: Share) {
    this.#budget = budget;
    this.#share = share;
  }

  /** Adds the item, or truncates the list before it. */
  add(item: ListItem): void {
    if (this.cut !== undefined) return;
    const size = itemBytes(item);
    if (this.items.length === MAX_ITEMS) this.cut = 'too_many';
    else if (this.#bytes + size > MAX_LIST_BYTES) this.cut = 'too_large';
    else if (!this.#budget.acquire(size, this.#share)) this.cut = 'gateway_full';
    else {
      this.#bytes += size;
      this.items.push(item);
    }
  }

  /** Reserves memory for repaired copies of items. Returns false if the budget is exhausted. */
  reserve(bytes: number): boolean {
    if (!this.#budget.acquire(bytes, this.#share)) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Returns the memory to the budget. */
  release(): void {
    this.#budget.release(this.#bytes, this.#share);
    this.#bytes = 0;
  }
}
