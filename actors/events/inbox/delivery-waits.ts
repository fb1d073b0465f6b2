// Pending calls that wait for the outcome of their deliveries. One listener also receives every delivery that
// is settled (it has its outcome), parked (it waits for another event) or retried.
//
// Each call resolves once: with the outcome, or with undefined after its timeout, after `close`, or when its
// signal aborts. The number of pending calls is limited, in total and per trigger; further calls are rejected
// immediately.

import { HolderBudget } from '../../base/bounds/holder-budget.ts';
import type { LimitUsage } from '../../base/bounds/limit-usage.ts';
import { OverloadedError } from '../../base/errors/errors.ts';
import type { DeliveryOutcome } from './delivery-outcome.ts';

interface DeliveryWait {
  readonly trigger: string;
  readonly resolve: (settled: DeliveryOutcome | undefined) => void;
  readonly timer: NodeJS.Timeout;
}

export interface DeliveryListener {
  onSettled(id: string, settled: DeliveryOutcome): void;
  /**
   * The attempt failed or was deferred; the delivery record contains the time of the next one and the reason.
   */
  onDeferred(id: string): void;
  /** Returns the ids of the deliveries that the listener watches and that do not run in this process. */
  watchedIds(): Iterable<string>;
  /** An attempt began on another node. */
  onRemoteStart(id: string): void;
  /** Another node extended the journal to `count` steps. */
  onRemoteRows(id: string, count: number): void;
}

export class DeliveryWaits {
  readonly #slots: HolderBudget;
  readonly #waits = new Map<string, Set<DeliveryWait>>();
  readonly #listener: DeliveryListener | undefined;
  readonly #onSettled: (id: string, settled: DeliveryOutcome) => void;
  #isClosed = false;

  /** `onSettled` is called for each settled event, before the listener. */
  constructor(
    max: number,
    listener?: DeliveryListener,
    onSettled: (id: string, settled: DeliveryOutcome) => void = () => {},
  ) {
    this.#slots = new HolderBudget(max);
    this.#listener = listener;
    this.#onSettled = onSettled;
  }

  get size(): number {
    return this.#slots.used;
  }

  get usage(): LimitUsage {
    return this.#slots.usage;
  }

  /** Returns the ids with pending calls, and the ids that the listener watches. */
  *awaitedIds(): Iterable<string> {
    yield* this.#waits.keys();
    yield* this.#listener?.watchedIds() ?? [];
  }

  /**
   * Resolves when the delivery is settled or parked, or with undefined after `timeoutMs` or when `signal`
   * aborts. Rejects with OverloadedError if too many calls are pending.
   */
  wait(
    trigger: string,
    id: string,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<DeliveryOutcome | undefined> {
    if (this.#isClosed || signal?.aborted === true) return Promise.resolve(undefined);
    if (!this.#slots.acquire(1, [trigger])) {
      const { used, total } = this.#slots;
      const counts = `${used} of ${total} requests wait for their events, ${this.#slots.usedBy(trigger)} of them for events of ${trigger}`;
      return Promise.reject(new OverloadedError(`${counts}; try again, or request without waiting`));
    }
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#end(id, wait, undefined), timeoutMs);
      const wait: DeliveryWait = { trigger, resolve, timer };
      signal?.addEventListener('abort', () => this.#end(id, wait, undefined), { once: true });
      let waits = this.#waits.get(id);
      if (waits === undefined) {
        waits = new Set();
        this.#waits.set(id, waits);
      }
      waits.add(wait);
    });
  }

  /** Resolves the pending calls for the delivery. */
  settle(id: string, settled: DeliveryOutcome): void {
    this.#onSettled(id, settled);
    this.#listener?.onSettled(id, settled);
    if (this.size === 0) return;
    for (const wait of this.#waits.get(id) ?? []) this.#end(id, wait, settled);
  }

  /** Reports a retry to the listener. Pending calls stay pending. */
  notifyDeferred(id: string): void {
    this.#listener?.onDeferred(id);
  }

  /** Resolves all pending calls with undefined. */
  close(): void {
    this.#isClosed = true;
    for (const [id, waits] of this.#waits) for (const wait of waits) this.#end(id, wait, undefined);
  }

  #end(id: string, wait: DeliveryWait, settled: DeliveryOutcome | undefined): void {
    const waits = this.#waits.get(id);
    if (waits?.delete(wait) !== true) return;
    if (waits.size === 0) this.#waits.delete(id);
    this.#slots.release(1, [wait.trigger]);
    clearTimeout(wait.timer);
    wait.resolve(settled);
  }
}
