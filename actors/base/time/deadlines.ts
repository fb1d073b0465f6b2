// The deadlines of many short waits of the same length. A timer for each would nearly always be set and cleared for
// nothing; since these waits are over in the order in which they began, one timer for the first of them is enough. It is
// not cleared when that one ends early, but looks for the next when it goes off.
//
// DL1  `expire` is called once, and not before the time is up, unless the wait was taken out.
// DL2  while nobody waits no timer is set, but for the last one that has not gone off yet; it keeps no process alive.

import { type Linked, LinkedList } from '../bounds/linked-list.ts';

export interface Waiting<T> extends Linked<T> {
  /** In performance.now() milliseconds; written here. */
  dueAt: number;
  /** The time is up, and it is out of the list. */
  expire(): void;
}

export class Deadlines<T extends Waiting<T>> {
  readonly #ms: number;
  readonly #waiting = new LinkedList<T>();
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.#ms = ms;
  }

  /** A timer is set, perhaps for a wait that is over. */
  get isTicking(): boolean {
    return this.#timer !== undefined;
  }

  /** The wait begins, and must not be under way already. `now` is in performance.now() milliseconds. */
  add(wait: T, now: number): void {
    wait.dueAt = now + this.#ms;
    this.#waiting.add(wait);
    this.#timer ??= setTimeout(this.#onTimer, this.#ms).unref();
  }

  /** The wait is over; does nothing when it was before. */
  delete(wait: T): void {
    this.#waiting.delete(wait);
  }

  readonly #onTimer = (): void => {
    try {
      // The first is asked for anew each time: the end of one may be that of others, or the beginning.
      for (let wait = this.#waiting.first; wait !== undefined; wait = this.#waiting.first) {
        if (wait.dueAt > performance.now()) break;
        this.#waiting.delete(wait);
        wait.expire();
      }
    } finally {
      // Set only now, for the first that is left, whoever came meanwhile; and also when one has thrown.
      const next = this.#waiting.first;
      const leftMs = next === undefined ? 0 : Math.max(1, Math.ceil(next.dueAt - performance.now()));
      this.#timer = next === undefined ? undefined : setTimeout(this.#onTimer, leftMs).unref();
    }
  };
}
