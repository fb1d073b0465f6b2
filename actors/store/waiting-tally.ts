// Tally of waiting events while calls append more: the counted events, and the added ones. A call
// fits with all its events or not at all (waiting-shares.ts).

import type { NewEvent } from './event.ts';
import { addCount, type HolderCounts } from './holder-counts.ts';
import { toStorableText } from './record-texts.ts';
import {
  acceptanceLimit,
  canWait,
  triggerHolder,
  type WaitingUsage,
  waitingRefusal,
} from './waiting-shares.ts';

/** Numbers of waiting events. */
export interface CountedEvents {
  readonly total: number;
  readonly byTrigger: HolderCounts;
  readonly byConversation: HolderCounts;
}

/** Event as stored. */
type TalliedEvent = Readonly<Record<'id' | 'key' | 'trigger', string>>;

export class WaitingTally {
  readonly #counted: CountedEvents;
  readonly #maxWaiting: number;
  readonly #addedIds = new Set<string>();
  readonly #byTrigger = new Map<string, number>();
  readonly #byConversation = new Map<string, number>();

  constructor(counted: CountedEvents, maxWaiting: number) {
    this.#counted = counted;
    this.#maxWaiting = maxWaiting;
  }

  /**
   * Adds the events of a call that use capacity. If one of them may not wait, adds none, and returns the
   * reason.
   */
  add(call: readonly NewEvent[], events: readonly NewEvent[]): string | undefined {
    const limit = acceptanceLimit(call, this.#maxWaiting);
    const added: TalliedEvent[] = [];
    for (const event of events.map(toWaiting)) {
      if (this.#addedIds.has(event.id)) continue;
      const usage = this.#usage(event);
      if (!canWait(usage, limit)) {
        for (const each of added) this.#count(each, -1);
        return waitingRefusal(event.trigger, usage, this.#maxWaiting);
      }
      this.#count(event, 1);
      added.push(event);
    }
    return undefined;
  }

  #usage({ trigger, key }: TalliedEvent): WaitingUsage {
    const { total, byTrigger, byConversation } = this.#counted;
    return {
      total: total + this.#addedIds.size,
      trigger: (byTrigger.get(trigger) ?? 0) + (this.#byTrigger.get(trigger) ?? 0),
      conversation: (byConversation.get(key) ?? 0) + (this.#byConversation.get(key) ?? 0),
    };
  }

  #count({ id, key, trigger }: TalliedEvent, by: 1 | -1): void {
    if (by > 0) this.#addedIds.add(id);
    else this.#addedIds.delete(id);
    addCount(this.#byTrigger, trigger, by);
    addCount(this.#byConversation, key, by);
  }
}

function toWaiting(event: NewEvent): TalliedEvent {
  const stored = { id: toStorableText(event.id), key: toStorableText(event.key) };
  return { ...stored, trigger: triggerHolder(stored) };
}
