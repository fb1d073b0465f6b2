// Checks the items of a server's list for merged lists (of all servers): valid for strict clients, with
// unique keys. Invalid items are repaired or omitted. A list is checked once, and client requests use the
// cached result. Repaired items are copies, up to MAX_REPAIRED_BYTES; further invalid items are omitted (A8,
// ARCHITECTURE.md).

import { checkItem } from './item-check.ts';
import { FaultCollector, type ItemFaults } from './item-faults.ts';
import { itemBytes, type ListItem, type ListKind } from './lists.ts';

const MAX_REPAIRED_BYTES = 4 * 1024 * 1024;

export interface ListableItem {
  /** Name or URI at the server. */
  readonly key: string;
  /** The item for clients of each protocol era (sessions; stateless). Usually both are the same object. */
  readonly legacy: ListItem;
  readonly modern: ListItem;
}

export interface CheckedList {
  readonly items: readonly ListableItem[];
  readonly faults: ItemFaults;
  /** Memory used by repaired items. */
  readonly repairedBytes: number;
}

/** Cached results by the received list, which is immutable. */
const cache = new WeakMap<readonly ListItem[], CheckedList>();

/** Returns the valid and repaired items, in order. */
export function checkedList(kind: ListKind, items: readonly ListItem[]): CheckedList {
  let list = cache.get(items);
  if (list === undefined) {
    list = check(kind, items);
    cache.set(items, list);
  }
  return list;
}

function check(kind: ListKind, received: readonly ListItem[]): CheckedList {
  const faults = new FaultCollector();
  const items = new Map<string, ListableItem>();
  let repairedBytes = 0;
  for (const item of received) {
    const { key } = item;
    const omit = (reasons: readonly string[]) => faults.add(key, 'omitted', () => reasons);
    if (items.has(key)) {
      omit(['the key occurs twice in the list']);
      continue;
    }
    const { forms, faults: reasons } = checkItem(kind, item);
    if (forms === undefined) {
      omit(reasons);
      continue;
    }
    const { legacy, modern } = forms;
    // A form that equals the received item needs no memory.
    const copies = new Set([legacy, modern]);
    copies.delete(item);
    const size = [...copies].reduce((sum, copy) => sum + itemBytes(copy), 0);
    if (repairedBytes + size > MAX_REPAIRED_BYTES) {
      omit(['the list has more invalid items than the gateway repairs']);
      continue;
    }
    repairedBytes += size;
    if (reasons.length > 0) faults.add(key, 'repaired', () => reasons);
    items.set(key, { key, legacy, modern });
  }
  return { items: [...items.values()], faults, repairedBytes };
}
