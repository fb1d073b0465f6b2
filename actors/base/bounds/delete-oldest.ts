// Limits the size of maps and sets.

/** Deletes the entries that were inserted first, until `limit` entries remain. */
export function deleteOldest<Key>(
  entries: { readonly size: number; keys(): Iterable<Key>; delete(key: Key): boolean },
  limit: number,
): void {
  for (const oldest of entries.keys()) {
    if (entries.size <= limit) return;
    entries.delete(oldest);
  }
}
