// The works of the dispatcher, with the places of each: what hangs among agents holds up no answer on its way out, nor a
// platform that hangs an agent or another platform.

import { WorkPlaces } from '../inbox/work-places.ts';
import type { QueueOptions } from '../inbox/work-queue.ts';
import type { Store } from '../store/store.ts';
import { ConversationWork, type Routing } from './conversation-work.ts';
import { OutboxWork, type Sendings } from './outbox-work.ts';

export interface WorksOptions {
  readonly store: Pick<Store, 'release' | 'delivery'>;
  /** Words of those that messages are sent to. */
  readonly platforms: readonly string[];
  readonly routing: Routing & Sendings;
  /** Conversations that are worked at the same time. */
  readonly concurrency: number;
  /** Of one event. */
  readonly maxBodyBytes: number;
}

/** Of the actor under which all destinations stand. */
const OUTBOX = 'outbox';
/** Of each platform. */
const OUTBOX_PLACES = 64;
/** Events that are read to find out whether there is a place for them, beyond those that have one. */
const JUDGED_AT_ONCE = 64;
/** Bodies of events at work, in memory; several of the largest fit in any case. */
const BODIES_BYTES = 64 * 1024 * 1024;
const LARGEST_AT_WORK = 4;

export class Works {
  readonly queues: readonly QueueOptions[];
  readonly #places: readonly WorkPlaces[];

  constructor({ store, routing, platforms, concurrency, maxBodyBytes }: WorksOptions) {
    const bytes = Math.max(BODIES_BYTES, LARGEST_AT_WORK * maxBodyBytes);
    const release = (name: string, max?: number) => store.release(name, max);
    const handling = new WorkPlaces({ places: concurrency, bytes, release });
    const spare = JUDGED_AT_ONCE;
    const sending = platforms.map((platform) => {
      const places = new WorkPlaces({ places: OUTBOX_PLACES, bytes, release });
      const work = new OutboxWork({ platform, sendings: routing, places, store });
      const queue = { name: `${OUTBOX}/${platform}`, parent: OUTBOX, work, places: OUTBOX_PLACES, spare };
      return { places, queue };
    });
    this.#places = [handling, ...sending.map(({ places }) => places)];
    this.queues = [
      { name: 'conversations', work: new ConversationWork(routing, handling), places: concurrency, spare },
      ...sending.map(({ queue }) => queue),
    ];
  }

  /** Agents and triggers may be others now. */
  judgeAnew(): void {
    for (const places of this.#places) places.judgeAnew();
  }

  close(): void {
    for (const places of this.#places) places.close();
  }
}
