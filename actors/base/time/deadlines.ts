// Timeouts of many calls with the same duration, with a single timer. Entries expire in the order of `add`,
// so the timer is set for the first entry. If that entry is removed early, the timer still fires, and is then
// set for the next entry. `expire` is called once, not before the deadline, and never for removed entries.
// The timer does not keep the process alive.

import { LinkedList, type ListMember } from '../bounds/linked-list.ts';

export interface TimedEntry<T> extends ListMember<T> {
  /** `performance.now()` milliseconds; written by Deadlines. */
  dueAt: number;
  /** Called at the deadline, when the entry is already removed. */
  expire(): void;
}

export class Deadlines<T extends TimedEntry<T>> {
  readonly #ms: number;
  readonly #waiting = new LinkedList<T>();
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.#ms = ms;
  }

  /** True while a timer is set. It may have been set for an entry that was removed since then. */
  get isTicking(): boolean {
    return this.#timer !== undefined;
  }

  /** Adds an unlisted entry. `now` is in `performance.now()` milliseconds. */
  add(entry: T, now: number): void {
    entry.dueAt = now + this.#ms;
    this.#waiting.add(entry);
    this.#timer ??= setTimeout(this.#onTimer, this.#ms).unref();
  }

  /** Removes an entry. Ignores a removed entry. */
  delete(entry: T): void {
    this.#waiting.delete(entry);
  }

  readonly #onTimer = (): void => {
    try {
      // Reads the first entry each time, because `expire` may add or remove entries.
      for (let entry = this.#waiting.first; entry !== undefined; entry = this.#waiting.first) {
        if (entry.dueAt > performance.now()) break;
        this.#waiting.delete(entry);
        entry.expire();
      }
    } finally {
      // Sets the timer last, for the first remaining entry, also if `expire` threw.
      const next = this.#waiting.first;
      const leftMs = next === undefined ? 0 : Math.max(1, Math.ceil(next.dueAt - performance.now()));
      this.#timer = next === undefined ? undefined : setTimeout(this.#onTimer, leftMs).unref();
    }
  };
}
