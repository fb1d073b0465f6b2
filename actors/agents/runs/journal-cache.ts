// Values computed from journals row by row, for recent runs. A run that wakes often or is polled reads only
// its new rows: parsing a whole journal of 32 MB takes long on the thread that serves all requests. Rows are
// processed in slices, between which other work runs.
//
// Rows are immutable, but an event that restarts gets a new journal. The last known row reveals it.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Step } from '../../store/run.ts';
import type { Store } from '../../store/store.ts';

interface JournalCacheOptions<T> {
  readonly store: Pick<Store, 'steps'>;
  /** Returns the value of an empty journal. */
  begin(): T;
  /** Adds the next row. */
  add(value: T, step: Step): void;
}

interface Entry<T> {
  value: T;
  last: Step | undefined;
  bytes: number;
  /** Settles when the previous read has ended. */
  reading: Promise<void>;
}

/** A slice takes a few milliseconds. */
const SLICE_BYTES = 262_144;
/** Maximum size of the cached journals, as text. The values may be larger. */
const MAX_BYTES = 33_554_432;
/** Size of an entry without rows: also many empty journals are limited. */
const ENTRY_BYTES = 1_024;

export class JournalCache<T> {
  readonly #options: JournalCacheOptions<T>;
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry<T>>();
  /** Size of all entries. */
  #bytes = 0;

  constructor(options: JournalCacheOptions<T>) {
    this.#options = options;
  }

  /** Returns the value of all rows; later reads change it. Rejects with the store's error. */
  async read(id: string): Promise<T> {
    const entry = this.#entries.get(id) ?? {
      value: this.#options.begin(),
      last: undefined,
      bytes: ENTRY_BYTES,
      reading: Promise.resolve(),
    };
    this.#remove(id);
    this.#entries.set(id, entry);
    this.#bytes += entry.bytes;
    const reading = entry.reading.then(() => this.#extend(id, entry));
    entry.reading = reading.catch(() => {});
    try {
      await reading;
    } catch (error) {
      if (this.#entries.get(id) === entry) this.#remove(id);
      throw error;
    }
    this.#evict();
    return entry.value;
  }

  async #extend(id: string, entry: Entry<T>): Promise<void> {
    const { store, begin, add } = this.#options;
    let sliceBytes = 0;
    for (;;) {
      const known = entry.last;
      // Starts with the last known row.
      const page = await store.steps(id, Math.max(0, (known?.n ?? 0) - 1));
      if (known !== undefined && !isSameRow(page[0], known)) {
        Object.assign(entry, { value: begin(), last: undefined });
        this.#resize(id, entry, ENTRY_BYTES);
        continue;
      }
      const added = known === undefined ? page : page.slice(1);
      if (added.length === 0) return;
      for (const step of added) {
        if (sliceBytes > SLICE_BYTES) {
          await nextTurn();
          sliceBytes = 0;
        }
        add(entry.value, step);
        entry.last = step;
        this.#resize(id, entry, entry.bytes + step.text.length);
        sliceBytes += step.text.length;
      }
    }
  }

  #evict(): void {
    for (const id of this.#entries.keys()) {
      if (this.#bytes <= MAX_BYTES) return;
      this.#remove(id);
    }
  }

  #remove(id: string): void {
    this.#bytes -= this.#entries.get(id)?.bytes ?? 0;
    this.#entries.delete(id);
  }

  #resize(id: string, entry: Entry<T>, bytes: number): void {
    // An entry may be evicted while its journal is read.
    if (this.#entries.get(id) === entry) this.#bytes += bytes - entry.bytes;
    entry.bytes = bytes;
  }
}

function isSameRow(step: Step | undefined, known: Step): boolean {
  return step?.n === known.n && step.at === known.at && step.text === known.text;
}
