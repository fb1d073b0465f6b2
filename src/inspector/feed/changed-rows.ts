// Selects the rows (servers or triggers) that changed since the previous `numbers` message of the feed.

export interface RowsOptions<Item, Row> {
  idOf(item: Item): string;
  /** Returns a short fingerprint; the row is created only if it changes. */
  fingerprintOf(item: Item): string;
  rowOf(item: Item): Row;
}

export class ChangedRows<Item, Row> {
  readonly #options: RowsOptions<Item, Row>;
  #fingerprints = new Map<string, string>();

  constructor(options: RowsOptions<Item, Row>) {
    this.#options = options;
  }

  /** Returns the rows of new and changed items, and the ids of removed items. */
  takeChanges(items: readonly Item[]): { readonly changed: Row[]; readonly removed: string[] } {
    const { idOf, fingerprintOf, rowOf } = this.#options;
    const fingerprints = new Map<string, string>();
    const changed: Row[] = [];
    for (const item of items) {
      const id = idOf(item);
      const fingerprint = fingerprintOf(item);
      fingerprints.set(id, fingerprint);
      if (this.#fingerprints.get(id) !== fingerprint) changed.push(rowOf(item));
    }
    const removed = [...this.#fingerprints.keys()].filter((id) => !fingerprints.has(id));
    this.#fingerprints = fingerprints;
    return { changed, removed };
  }

  /**
   * Makes the next `takeChanges` return all rows. Called after a page has received the complete state, which
   * may be newer than the fingerprints. If a row then changed back to its fingerprint, `takeChanges` would
   * find no change, and the page would keep the outdated value.
   */
  invalidate(): void {
    for (const id of this.#fingerprints.keys()) this.#fingerprints.set(id, '');
  }
}
