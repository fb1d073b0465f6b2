// The two works of the dispatcher, with the places of each: what hangs among agents holds up no answer on its way out, nor a
// platform that hangs an agent.

import { WorkPlaces } from '../inbox/work-places.ts';
import type { QueueOptions } from '../inbox/work-queue.ts';
import type { Store } from '../store/store.ts';
import { ConversationWork, type Routing } from './conversation-work.ts';
import { OutboxWork, type Sendings } from './outbox-work.ts';

export interface WorksOptions {
  readonly store: Pick<Store, 'release'>;
  readonly routing: Routing & Sendings;
  /** Conversations that are worked at the same time. */
  readonly concurrency: number;
  /** Of one event. */
  readonly maxBodyBytes: number;
}

const OUTBOX_PLACES = 64;
/** Events that are read to find out whether there is a place for them, beyond those that have one. */
const JUDGED_AT_ONCE = 64;
/** Bodies of events at work, in memory; several of the largest fit in any case. */
const BODIES_BYTES = 64 * 1024 * 1024;
const LARGEST_AT_WORK = 4;

export class Works {
  readonly queues: readonly QueueOptions[];
  readonly #places: readonly WorkPlaces[];

  constructor({ store, routing, concurrency, maxBodyBytes }: WorksOptions) {
    const bytes = Math.max(BODIES_BYTES, LARGEST_AT_WORK * maxBodyBytes);
    const release = (name: string, max?: number) => store.release(name, max);
    const handling = new WorkPlaces({ places: concurrency, bytes, release });
    const sending = new WorkPlaces({ places: OUTBOX_PLACES, bytes, release });
    const spare = JUDGED_AT_ONCE;
    this.#places = [handling, sending];
    this.queues = [
      { name: 'conversations', work: new ConversationWork(routing, handling), places: concurrency, spare },
      { name: 'outbox', work: new OutboxWork(routing, sending), places: OUTBOX_PLACES, spare },
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
