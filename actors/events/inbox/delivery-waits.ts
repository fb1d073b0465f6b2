// Requests that wait for the end of a delivery, because they are answered when their event has been handled.
//
// It also tells one listener of every event that has ended, parks, or comes again, whether somebody waits for it or not.
//
// SE1  each wait ends once: with how the event ended in this process, when it parks, or with undefined at its deadline, at the
//      end, and when its caller gives it up.
// SE2  at most `max` wait at a time, and no trigger has all of these places (budget.ts); beyond that the caller is told at
//      once (A8, A6).

import { Budget, Share } from '../../base/bounds/budget.ts';
import { OverloadedError } from '../../base/errors/errors.ts';
import type { Settled } from './settled.ts';

interface Wait {
  readonly trigger: string;
  readonly resolve: (settled: Settled | undefined) => void;
  readonly timer: NodeJS.Timeout;
}

export interface DeliveryListener {
  onSettled(id: string, settled: Settled): void;
  /** An attempt is over, and the event comes again; its record says when, and why. */
  onPutOff(id: string): void;
  /** Those of whom anybody wants to know, and that have no attempt here. */
  watched(): Iterable<string>;
  /** An attempt has begun on another node. */
  onBegunElsewhere(id: string): void;
  /** The journal has so many rows now, by another node. */
  onRowsElsewhere(id: string, count: number): void;
}

export class DeliveryWaits {
  readonly #places: Budget;
  /** The shares of triggers for whose deliveries somebody waits. */
  readonly #shares = new Map<string, Share>();
  readonly #waits = new Map<string, Set<Wait>>();
  readonly #listener: DeliveryListener | undefined;
  readonly #onSettled: (id: string, settled: Settled) => void;
  #isClosed = false;

  /** `onSettled` is called for each settled event, before the listener. */
  constructor(
    max: number,
    listener?: DeliveryListener,
    onSettled: (id: string, settled: Settled) => void = () => {},
  ) {
    this.#places = new Budget(max);
    this.#listener = listener;
    this.#onSettled = onSettled;
  }

  get size(): number {
    return this.#places.taken;
  }

  /** Events for whose end anybody waits or looks. */
  *awaited(): Iterable<string> {
    yield* this.#waits.keys();
    yield* this.#listener?.watched() ?? [];
  }

  /**
   * Resolves when that event has ended or parks, or with undefined; `givenUp` gives its place back at once. Rejects with
   * OverloadedError when too many wait already.
   */
  wait(trigger: string, id: string, timeoutMs: number, givenUp?: AbortSignal): Promise<Settled | undefined> {
    if (this.#isClosed || givenUp?.aborted === true) return Promise.resolve(undefined);
    const share = this.#shares.get(trigger) ?? new Share();
    if (!this.#places.take(1, share)) {
      const { taken, total } = this.#places;
      const what = `${taken} of ${total} requests wait for their events, ${share.held} of them for those of ${trigger}`;
      return Promise.reject(new OverloadedError(`${what}; try again`));
    }
    this.#shares.set(trigger, share);
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#end(id, wait, undefined), timeoutMs);
      const wait: Wait = { trigger, resolve, timer };
      givenUp?.addEventListener('abort', () => this.#end(id, wait, undefined), { once: true });
      let waits = this.#waits.get(id);
      if (waits === undefined) {
        waits = new Set();
        this.#waits.set(id, waits);
      }
      waits.add(wait);
    });
  }

  /** Ends the waits for a delivery that has ended or parked so. */
  settle(id: string, settled: Settled): void {
    this.#onSettled(id, settled);
    this.#listener?.onSettled(id, settled);
    if (this.size === 0) return;
    for (const wait of this.#waits.get(id) ?? []) this.#end(id, wait, settled);
  }

  /** Whoever waits goes on waiting. */
  putOff(id: string): void {
    this.#listener?.onPutOff(id);
  }

  /** Ends all waits, with undefined. */
  close(): void {
    this.#isClosed = true;
    for (const [id, waits] of this.#waits) for (const wait of waits) this.#end(id, wait, undefined);
  }

  #end(id: string, wait: Wait, settled: Settled | undefined): void {
    const waits = this.#waits.get(id);
    if (waits?.delete(wait) !== true) return;
    if (waits.size === 0) this.#waits.delete(id);
    this.#giveBack(wait.trigger);
    clearTimeout(wait.timer);
    wait.resolve(settled);
  }

  #giveBack(trigger: string): void {
    const share = this.#shares.get(trigger);
    if (share === undefined) return;
    this.#places.give(1, share);
    if (share.held === 0) this.#shares.delete(trigger);
  }
}
