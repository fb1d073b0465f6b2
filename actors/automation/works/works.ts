// The works of the dispatcher, with the places of each: what hangs among agents holds up no answer on its way out, nor a
// platform that hangs an agent or another platform.

import { WorkPlaces } from '../../events/inbox/work-places.ts';
import type { QueueOptions } from '../../events/inbox/work-queue.ts';
import type { Store } from '../../store/store.ts';
import type { WorkKind } from './work-kinds.ts';

export interface WorksOptions {
  readonly store: Pick<Store, 'release'>;
  readonly kinds: readonly WorkKind[];
  /** Of one event. */
  readonly maxBodyBytes: number;
}

/** Events that are read to find out whether there is a place for them, beyond those that have one. */
const JUDGED_AT_ONCE = 64;
/** Bodies of events at work, in memory; several of the largest fit in any case. */
const BODIES_BYTES = 64 * 1024 * 1024;
const LARGEST_AT_WORK = 4;

export class Works {
  readonly queues: readonly QueueOptions[];
  readonly #places: readonly WorkPlaces[];

  constructor({ store, kinds, maxBodyBytes }: WorksOptions) {
    const bytes = Math.max(BODIES_BYTES, LARGEST_AT_WORK * maxBodyBytes);
    const release = (name: string, max?: number) => store.release(name, max);
    const made = kinds.map(({ name, parent = name, places: count, makeGate, make }) => {
      const places = new WorkPlaces({ places: count, bytes, release });
      const queue = { name, parent, work: make(places), places: count, makeGate, spare: JUDGED_AT_ONCE };
      return { places, queue };
    });
    this.#places = made.map(({ places }) => places);
    this.queues = made.map(({ queue }) => queue);
  }

  /** Agents and triggers may be others now. */
  judgeAnew(): void {
    for (const places of this.#places) places.judgeAnew();
  }

  close(): void {
    for (const places of this.#places) places.close();
  }
}
