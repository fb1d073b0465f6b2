// A server's list items in merged lists: valid for strict clients, with unique keys. A list is checked once,
// when it is read; client requests use the cached result.
//
// A8: repaired items are copies; they take up to MAX_REPAIRED_BYTES, and further invalid items are omitted.

import { checkItem } from './item-check.ts';
import { FaultCollector, type ItemFaults } from './item-faults.ts';
import { heldBytes, type ListItem, type ListKind } from './lists.ts';

const MAX_REPAIRED_BYTES = 4 * 1024 * 1024;

export interface ListableItem {
  /** The name or uri that its server knows. */
  readonly key: string;
  /** Forms by the era of the client; the same object unless the eras differ. */
  readonly legacy: ListItem;
  readonly modern: ListItem;
}

export interface CheckedList {
  readonly items: readonly ListableItem[];
  readonly faults: ItemFaults;
  /** Memory taken by repaired items. */
  readonly repairedBytes: number;
}

/** Results by the received list, which never changes. */
const checked = new WeakMap<readonly ListItem[], CheckedList>();

/** Returns the listable items from a received list, in order. */
export function checkedList(kind: ListKind, items: readonly ListItem[]): CheckedList {
  let list = checked.get(items);
  if (list === undefined) {
    list = check(kind, items);
    checked.set(items, list);
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
    const copies = new Set([legacy, modern]);
    copies.delete(item);
    const size = [...copies].reduce((sum, copy) => sum + heldBytes(copy), 0);
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
