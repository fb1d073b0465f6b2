// A clock that is set back. By a little, and its instants come again: the store knows them, and nothing is repeated. By more,
// and it was wrong before: the new time counts at once, since else nothing would come until the clock had caught up.
//
// CC1  from a correction on, instants after the new time count as if they had never come. Those that have, under the clock as
//      it was before, come again as other events; nothing is made up for.
// CC2  the plan is noted anew before instants are forgotten. Without the note a start between the two would take for missed
//      what has come; with the note alone it sees instants of the future, and corrects again.

import type { ScheduleTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { SourceHost } from '../adapter.ts';
import { tickName } from './event.ts';
import { notePlan } from './plan-notes.ts';

/** As far as a clock may be set back that was right before: by a time server, or by hand to the minute. */
export const CORRECTION_MS = 60_000;

/** Both in epoch ms. */
export interface Correction {
  /** What the clock says now. */
  readonly now: number;
  /** How far it had come. */
  readonly reached: number;
}

/** Has a schedule go on by the time to which its clock was set back. Rejects as the store does. */
export async function goOnFrom(
  { store, log }: Pick<SourceHost, 'store' | 'log'>,
  { name, config: { cron, timezone } }: ScheduleTrigger,
  { now, reached }: Correction,
): Promise<void> {
  await notePlan(store, name, { cron, timezone, since: now, reached });
  await store.forgetTicks(tickName(name), now);
  const since = new Date(now).toISOString();
  log.warn({ trigger: name, since }, 'the clock was set back: a schedule goes on by the new time');
}
