// Handles a clock that goes back. After small steps, instants repeat and the store rejects them. A larger
// step means that the clock was wrong: the schedule follows the corrected clock immediately. Otherwise no
// instant would occur until the clock had caught up.
//
// Stored instants after the corrected time are deleted, because they are in the future again. When they occur
// a second time, they are new events; they never count as missed. The plan is stored before the instants are
// deleted: if the process restarts in between, the correction is detected again, and past instants do not
// count as missed.

import type { ScheduleTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { TriggerHost } from '../adapter.ts';
import { tickName } from './event.ts';
import { writePlanNote } from './plan-notes.ts';

/** Maximum step for a correct clock: set by NTP, or by hand to the minute. */
export const CORRECTION_MS = 60_000;

/** Times are epoch ms. */
export interface Correction {
  /** Corrected clock. */
  readonly now: number;
  /** Maximum of the clock before the correction. */
  readonly reached: number;
}

/**
 * Stores the correction and deletes the instants that are in the future again. Rejects if the store fails.
 */
export async function applyCorrection(
  { store, log }: Pick<TriggerHost, 'store' | 'log'>,
  { name, config: { cron, timezone } }: ScheduleTrigger,
  { now, reached }: Correction,
): Promise<void> {
  await writePlanNote(store, name, { cron, timezone, since: now, reached });
  await store.forgetTicks(tickName(name), now);
  const since = new Date(now).toISOString();
  log.warn({ trigger: name, since }, 'clock set back; schedule continues by the new time');
}
