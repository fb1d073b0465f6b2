// Deletes plans and instants of removed schedules, after a delay: a file may be missing by mistake, or the
// gateway may run with another folder for a day.
//
// A schedule is deleted only if every check during the delay found it removed; opening it resets the note.
// The delay counts from a check of the running gateway, because downtime is no evidence of removal. Plan and
// instants are deleted together, because a later load would misinterpret either of them alone.

import type { Store } from '../../store/store.ts';
import { tickName } from './event.ts';
import { deletePlanNote, listNotedTriggers, readPlanNote, writePlanNote } from './plan-notes.ts';

export interface RemovalOptions {
  /** Returns true if a schedule with this name exists. */
  readonly exists: (trigger: string) => boolean;
  readonly keepMs: number;
  /** Epoch ms. */
  readonly now: number;
}

/**
 * Notes removed schedules, and deletes schedules that were removed at least `keepMs` ago. Returns the number
 * of deleted schedules. Rejects if the store fails.
 */
export async function deleteRemovedPlans(
  store: Store,
  { exists, keepMs, now }: RemovalOptions,
): Promise<number> {
  let count = 0;
  for (const trigger of await listNotedTriggers(store)) {
    const stored = await readPlanNote(store, trigger);
    if (stored === undefined) continue;
    const { goneSince, ...plan } = stored.note;
    // After clock corrections the stored time may be in the future.
    const since = exists(trigger) ? undefined : Math.min(goneSince ?? now, now);
    if (since !== undefined && now - since >= keepMs) {
      // Deleted concurrently, so that a simultaneous load finds neither.
      await Promise.all([store.forgetTicks(tickName(trigger)), deletePlanNote(store, trigger)]);
      count += 1;
    } else if (since !== goneSince) {
      const note = since === undefined ? plan : { ...plan, goneSince: since };
      await writePlanNote(store, trigger, note, stored.version);
    }
  }
  return count;
}
