// Who waits for the end of an event: a request that is answered when its event has been handled.
//
// SE1  each wait ends once: with how the event ended in this process, or with undefined at its deadline, at the end, and
//      when its caller gives it up.
// SE2  at most `max` wait at a time; beyond that the caller is told at once (A8).

import { OverloadedError } from '../errors.ts';
import type { Settled } from '../sources/adapter.ts';

interface Wait {
  readonly resolve: (settled: Settled | undefined) => void;
  readonly timer: NodeJS.Timeout;
}

export class Settlements {
  readonly #max: number;
  readonly #waits = new Map<string, Set<Wait>>();
  #size = 0;
  #isClosed = false;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Resolves when that event has ended, or with undefined; `givenUp` gives its place back at once. Rejects with
   * OverloadedError when too many wait already.
   */
  wait(id: string, timeoutMs: number, givenUp?: AbortSignal): Promise<Settled | undefined> {
    if (this.#isClosed || givenUp?.aborted === true) return Promise.resolve(undefined);
    if (this.#size >= this.#max)
      return Promise.reject(
        new OverloadedError(`${this.#max} requests wait for their events already; try again`),
      );
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#end(id, wait, undefined), timeoutMs);
      const wait: Wait = { resolve, timer };
      givenUp?.addEventListener('abort', () => this.#end(id, wait, undefined), { once: true });
      let waits = this.#waits.get(id);
      if (waits === undefined) {
        waits = new Set();
        this.#waits.set(id, waits);
      }
      waits.add(wait);
      this.#size += 1;
    });
  }

  /** The event has ended so. */
  settle(id: string, settled: Settled): void {
    if (this.#size === 0) return;
    for (const wait of this.#waits.get(id) ?? []) this.#end(id, wait, settled);
  }

  /** Nobody will hear of any event any more. */
  close(): void {
    this.#isClosed = true;
    for (const [id, waits] of this.#waits) for (const wait of waits) this.#end(id, wait, undefined);
  }

  #end(id: string, wait: Wait, settled: Settled | undefined): void {
    const waits = this.#waits.get(id);
    if (waits?.delete(wait) !== true) return;
    if (waits.size === 0) this.#waits.delete(id);
    this.#size -= 1;
    clearTimeout(wait.timer);
    wait.resolve(settled);
  }
}
