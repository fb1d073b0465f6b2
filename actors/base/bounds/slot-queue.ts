// Slots for work in flight, with a bounded queue (A6, A8, ARCHITECTURE.md). Each slot belongs to holders of
// different kinds, such as a trigger and an agent. Both limits, of slots and of queued requests, have
// shares (budget.ts), so a single holder gets at most half of each. A free slot goes to the oldest request
// whose holders have a share left.

import { HolderBudget } from './holder-budget.ts';
import type { LimitUsage } from './limit-usage.ts';

/** Frees the slot. Call it once. */
export type ReleaseSlot = () => void;

export interface SlotRequest {
  /** Names of the holders, of different kinds. */
  readonly holders: readonly string[];
  readonly signal: AbortSignal;
  /** Maximum time in the queue. */
  readonly waitMs: number;
  /** Called if no slot is free and the request is queued. */
  onWait?(): void;
}

/** Usage, for statistics. */
export interface SlotFigures {
  readonly in_flight: number;
  readonly waiting: number;
  readonly limit: number;
}

interface QueuedRequest {
  readonly holders: readonly string[];
  grant(slot: ReleaseSlot): void;
}

export class SlotQueue {
  readonly #slots: HolderBudget;
  readonly #queue: HolderBudget;
  /** Oldest first. */
  readonly #requests = new Set<QueuedRequest>();

  constructor(slots: number, maxWaiting: number) {
    this.#slots = new HolderBudget(slots);
    this.#queue = new HolderBudget(maxWaiting);
  }

  get figures(): SlotFigures {
    return { in_flight: this.#slots.used, waiting: this.#queue.used, limit: this.#slots.total };
  }

  get usage(): LimitUsage {
    return this.#slots.usage;
  }

  /** Returns true if the holder's share has a free slot. */
  hasSlot(holder: string): boolean {
    return this.#slots.hasCapacity(1, holder);
  }

  /**
   * Resolves to undefined without a slot: the queue is full, or the time has passed. Rejects with the reason
   * of the signal.
   */
  async acquire({ holders, signal, waitMs, onWait }: SlotRequest): Promise<ReleaseSlot | undefined> {
    signal.throwIfAborted();
    const slot = this.#tryAcquire(holders);
    if (slot !== undefined) return slot;
    if (waitMs <= 0 || !this.#queue.acquire(1, holders)) return undefined;
    onWait?.();
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        this.#requests.delete(request);
        this.#queue.release(1, holders);
      };
      const onAbort = () => {
        end();
        reject(signal.reason);
      };
      const timer = setTimeout(() => {
        end();
        resolve(undefined);
      }, waitMs);
      const request: QueuedRequest = {
        holders,
        grant: (granted) => {
          end();
          resolve(granted);
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#requests.add(request);
    });
  }

  #tryAcquire(holders: readonly string[]): ReleaseSlot | undefined {
    if (!this.#slots.acquire(1, holders)) return undefined;
    return () => {
      this.#slots.release(1, holders);
      this.#grantFree();
    };
  }

  #grantFree(): void {
    for (const request of this.#requests) {
      if (this.#slots.free === 0) return;
      const slot = this.#tryAcquire(request.holders);
      if (slot !== undefined) request.grant(slot);
    }
  }
}
