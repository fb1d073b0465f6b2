// Schedules that are gone leave a plan and a last instant behind. Both are kept for a while, for a file may be away by
// mistake, or the gateway run with another folder for a day; after that they would only become more.
//
// GP1  what is removed was seen to be gone for so long, and not seen to be there in between: neither by a look nor by an
//      opening, which writes the note anew. How long no gateway has run says nothing.
// GP2  plan and instants go together: of either alone a later load would make up what it has missed.

import type { Store } from '../../store/store.ts';
import { tickName } from './event.ts';
import { forgetPlan, notedPlan, notedTriggers, notePlan } from './plan-notes.ts';

export interface GoneOptions {
  /** Whether there is a schedule of that name. */
  readonly isThere: (trigger: string) => boolean;
  readonly keepMs: number;
  /** Epoch ms. */
  readonly now: number;
}

/** Looks which schedules are gone, and forgets those that have long been so. Gives how many. Rejects as the store does. */
export async function forgetGone(store: Store, { isThere, keepMs, now }: GoneOptions): Promise<number> {
  let count = 0;
  for (const trigger of await notedTriggers(store)) {
    const found = await notedPlan(store, trigger);
    if (found === undefined) continue;
    const { goneSince, ...there } = found.note;
    // A clock that was set back may have left a time that is still to come.
    const since = isThere(trigger) ? undefined : Math.min(goneSince ?? now, now);
    if (since !== undefined && now - since >= keepMs) {
      // Both in this moment, in which it is not there: whoever loads it from now on finds neither.
      await Promise.all([store.forgetTicks(tickName(trigger)), forgetPlan(store, trigger)]);
      count += 1;
    } else if (since !== goneSince) {
      const note = since === undefined ? there : { ...there, goneSince: since };
      await notePlan(store, trigger, note, found.version);
    }
  }
  return count;
}
