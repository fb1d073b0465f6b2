// Kinds of work with separate slots: slow agents do not delay messages, and a slow platform does not delay
// agents and other platforms.

import type { QueueOptions } from '../../events/inbox/work-queue.ts';
import { WorkSlots } from '../../events/inbox/work-slots.ts';
import type { Store } from '../../store/store.ts';
import type { WorkKind } from './work-kinds.ts';

export interface WorksOptions {
  readonly store: Pick<Store, 'release'>;
  readonly kinds: readonly WorkKind[];
  /** Maximum event body size. */
  readonly maxBodyBytes: number;
}

/**
 * Number of claims beyond the slots. An event whose agent or trigger is at its limit needs no slot, but must
 * be claimed before it can return to the queue; events of other agents need a claim in the meantime.
 */
const SPARE_CLAIMS = 64;
/** Memory for the bodies of running events. It is larger if needed for MIN_LARGE_BODIES of maximum size. */
const BODIES_BYTES = 64 * 1024 * 1024;
const MIN_LARGE_BODIES = 4;

export class Works {
  readonly queues: readonly QueueOptions[];
  readonly #slots: readonly WorkSlots[];

  constructor({ store, kinds, maxBodyBytes }: WorksOptions) {
    const bytes = Math.max(BODIES_BYTES, MIN_LARGE_BODIES * maxBodyBytes);
    const release = (name: string, max?: number) => store.release(name, max);
    const kindsWithSlots = kinds.map(({ name, parent = name, slots: count, makeGate, make }) => {
      const slots = new WorkSlots({ slots: count, bytes, release });
      const usage = () => slots.usage;
      const queue = { name, parent, work: make(slots), slots: count, makeGate, spare: SPARE_CLAIMS, usage };
      return { slots, queue };
    });
    this.#slots = kindsWithSlots.map(({ slots }) => slots);
    this.queues = kindsWithSlots.map(({ queue }) => queue);
  }

  /**
   * Returns all events that are queued for a slot to the store's queue, to be claimed again. Call it if a
   * trigger or target has changed, because its limit can be higher now.
   */
  recheckQueued(): void {
    for (const slots of this.#slots) slots.releaseAll();
  }

  close(): void {
    for (const slots of this.#slots) slots.close();
  }
}
