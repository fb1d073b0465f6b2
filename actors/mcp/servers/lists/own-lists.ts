// A server's lists that differ between its clients. Each class of clients with equal capabilities
// (listing-capabilities.ts) has its own set. With `isolation: session`, the lists of a session's process can
// change after its start; then this session has its own set. A set is immutable and has a version, by which
// merged lists can be cached. Limits: MAX_CLASSES classes, and the memory budget of the server's lists (A8,
// ARCHITECTURE.md).

import type { Cuts, Hints } from '../cache/cache-file.ts';
import type { PoolMember } from '../pool/pool-member.ts';
import type { BoundedList, ListBudget } from './bounded-list.ts';
import {
  type CacheHint,
  everyListKind,
  isSameItem,
  type ListItem,
  type ListKind,
  type Lists,
} from './lists.ts';

/** The lists for some of a server's clients. The server's cache contains the lists for all others. */
export interface ListSet {
  readonly lists: Lists;
  readonly hints: Hints;
  readonly cuts: Cuts;
  /** Unique number; 0 for the cache of the server. */
  readonly version: number;
}

/** A fetched list. */
export interface FetchedList {
  readonly items: readonly ListItem[];
  readonly cut: BoundedList['cut'];
  readonly hint: CacheHint;
}

export type FetchedLists = Readonly<Partial<Record<ListKind, FetchedList>>>;

interface OwnSet extends ListSet {
  /** Reserved memory of the lists. */
  readonly reserved: readonly BoundedList[];
}

const MAX_CLASSES = 8;

/** Number of sets created so far. */
let versions = 0;

/** A server's sets for single classes and processes. All other clients receive its cached lists. */
export class OwnLists {
  readonly #budget: ListBudget;
  /** Sets by class key, the least recently stored first. */
  readonly #byClass = new Map<string, OwnSet>();
  /** Sets by private process, for processes whose lists have changed. */
  readonly #byMember = new Map<PoolMember, OwnSet>();
  /** Classes with lists fetched since the server started. */
  readonly #fresh = new Set<string>();

  constructor(budget: ListBudget) {
    this.#budget = budget;
  }

  get isEmpty(): boolean {
    return this.#byClass.size === 0 && this.#byMember.size === 0;
  }

  hasClass(key: string): boolean {
    return this.#byClass.has(key);
  }

  /** Returns true if the lists of the class were fetched since the server started. */
  isFresh(key: string): boolean {
    return this.#fresh.has(key);
  }

  /** Called when the server starts: the lists remain until they are refetched. */
  expire(): void {
    this.#fresh.clear();
  }

  /**
   * Returns the changed lists of the process. If none changed since its start, returns the lists of the
   * class.
   */
  find(member: PoolMember | undefined, key: string): ListSet | undefined {
    const changed = member === undefined || member.isClosing ? undefined : this.#byMember.get(member);
    return changed ?? this.#byClass.get(key);
  }

  /**
   * Stores a class's lists. Returns the changed kinds if the class had lists before. `shared` are the lists
   * of the cache, with memory that is already reserved.
   */
  storeClass(key: string, fetched: FetchedLists, shared: Lists): readonly ListKind[] {
    const before = this.#byClass.get(key);
    const set = this.#make(before, fetched, shared);
    if (set === undefined) return [];
    this.#fresh.add(key);
    this.#byClass.delete(key);
    this.#byClass.set(key, set);
    for (const [oldest, { reserved }] of this.#byClass) {
      if (this.#byClass.size <= MAX_CLASSES) break;
      for (const list of reserved) list.release();
      this.#byClass.delete(oldest);
    }
    return before === undefined
      ? []
      : everyListKind.filter((kind) => !areSame(before.lists[kind], set.lists[kind]));
  }

  /** Stores a process's changed lists. Its other lists are taken from `base`. */
  storeMember(member: PoolMember, base: ListSet, fetched: FetchedLists): void {
    for (const [other, { reserved }] of this.#byMember) {
      if (!other.isClosing) continue;
      for (const list of reserved) list.release();
      this.#byMember.delete(other);
    }
    const set = this.#make(this.#byMember.get(member) ?? { ...base, reserved: [] }, fetched, base.lists);
    if (set !== undefined) this.#byMember.set(member, set);
  }

  close(): void {
    for (const sets of [this.#byClass, this.#byMember]) {
      for (const { reserved } of sets.values()) for (const list of reserved) list.release();
      sets.clear();
    }
  }

  /** Returns `before` with the fetched lists; undefined, without a change, if the memory is exhausted. */
  #make(before: OwnSet | undefined, fetched: FetchedLists, shared: Lists): OwnSet | undefined {
    const changed = Object.entries(fetched) as [ListKind, FetchedList][];
    const lists: Partial<Record<ListKind, readonly ListItem[]>> = { ...before?.lists };
    const hints: Partial<Record<ListKind, CacheHint>> = { ...before?.hints };
    const cuts: Partial<Record<ListKind, NonNullable<FetchedList['cut']>>> = { ...before?.cuts };
    const reserved: BoundedList[] = [];
    for (const [kind, { items, cut, hint }] of changed) {
      lists[kind] = items;
      hints[kind] = hint;
      if (cut === undefined) delete cuts[kind];
      else cuts[kind] = cut;
    }
    for (const kind of everyListKind) {
      if (lists[kind] === shared[kind]) continue;
      const list = this.#budget.newList();
      for (const item of lists[kind] ?? []) list.add(item);
      reserved.push(list);
      if (list.cut !== 'gateway_full') continue;
      for (const each of reserved) each.release();
      return undefined;
    }
    for (const list of before?.reserved ?? []) list.release();
    versions += 1;
    return { lists, hints, cuts, version: versions, reserved };
  }
}

function areSame(some: readonly ListItem[] = [], others: readonly ListItem[] = []): boolean {
  return some.length === others.length && some.every((item, at) => isSameItem(item, others[at] as ListItem));
}
