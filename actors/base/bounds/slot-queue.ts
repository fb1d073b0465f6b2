// Slots for work in flight, with a bounded queue (A6, A8, ARCHITECTURE.md). Each slot belongs to two holders
// of different kinds, such as a trigger and an agent. Both limits, of slots and of queued requests, have
// shares (budget.ts), so a single holder gets at most half of each. A free slot goes to the oldest request
// whose holders have a share left.

import { Budget, Share } from './budget.ts';
import { WeakValues } from './weak-values.ts';

/** Frees the slot. Call it once. */
export type ReleaseSlot = () => void;

export interface SlotRequest {
  /** Names of the two holders. */
  readonly holders: readonly [string, string];
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

interface Holder {
  readonly slots: Share;
  readonly waiting: Share;
}

interface QueuedRequest {
  readonly holders: readonly [Holder, Holder];
  grant(slot: ReleaseSlot): void;
}

export class SlotQueue {
  readonly #slots: Budget;
  readonly #queue: Budget;
  readonly #holders = new WeakValues<Holder>();
  /** Oldest first. */
  readonly #requests = new Set<QueuedRequest>();

  constructor(slots: number, maxWaiting: number) {
    this.#slots = new Budget(slots);
    this.#queue = new Budget(maxWaiting);
  }

  get figures(): SlotFigures {
    return { in_flight: this.#slots.used, waiting: this.#queue.used, limit: this.#slots.total };
  }

  /**
   * Resolves to undefined without a slot: the queue is full, or the time has passed. Rejects with the reason
   * of the signal.
   */
  async acquire({ holders: names, signal, waitMs, onWait }: SlotRequest): Promise<ReleaseSlot | undefined> {
    signal.throwIfAborted();
    const holders = [this.#holder(names[0]), this.#holder(names[1])] as const;
    const slot = this.#tryAcquire(holders);
    if (slot !== undefined) return slot;
    const [one, other] = holders;
    if (waitMs <= 0 || !this.#queue.acquire(1, one.waiting, other.waiting)) return undefined;
    onWait?.();
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        this.#requests.delete(request);
        this.#queue.release(1, one.waiting, other.waiting);
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

  #holder(name: string): Holder {
    return this.#holders.getOrCreate(name, () => ({ slots: new Share(), waiting: new Share() }));
  }

  #tryAcquire([one, other]: readonly [Holder, Holder]): ReleaseSlot | undefined {
    if (!this.#slots.acquire(1, one.slots, other.slots)) return undefined;
    return () => {
      this.#slots.release(1, one.slots, other.slots);
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
