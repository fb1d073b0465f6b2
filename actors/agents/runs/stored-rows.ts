// Parsed rows of journals, for the attempts of runs.

import type { Store } from '../../store/store.ts';
import { JournalCache } from './journal-cache.ts';

export interface StoredRow {
  readonly row: Readonly<Record<string, unknown>>;
  /** Size of its JSON text in UTF-8. */
  readonly bytes: number;
}

/** Throws a SyntaxError for invalid JSON. */
export function parseStoredRow(text: string): StoredRow {
  return { row: JSON.parse(text) as StoredRow['row'], bytes: Buffer.byteLength(text) };
}

export class StoredRows {
  readonly #cache: JournalCache<StoredRow[]>;

  constructor(store: Pick<Store, 'steps'>) {
    this.#cache = new JournalCache<StoredRow[]>({
      store,
      begin: () => [],
      add: (rows, { text }) => rows.push(parseStoredRow(text)),
    });
  }

  /** Returns the first `count` rows of a run's journal. Rejects with the store's error. */
  async of(id: string, count: number): Promise<readonly StoredRow[]> {
    return count === 0 ? [] : (await this.#cache.read(id)).slice(0, count);
  }
}
