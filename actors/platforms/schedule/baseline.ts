// Computes the lower bound for a schedule's missed instants. At the first load of a trigger, its plan
// (expression and zone) is stored under the trigger's name; a changed plan replaces it. Only instants after
// the first load of a plan can be missed.

import type { ScheduleTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { TriggerHost } from '../adapter.ts';
import { applyCorrection, CORRECTION_MS } from './clock-correction.ts';
import { readScheduleEvent, scheduleId, tickName } from './event.ts';
import { readPlanNote, type SchedulePlan, writePlanNote } from './plan-notes.ts';

/** Epoch ms. */
export interface ScheduleBaseline {
  /**
   * The last stored instant or the first load of this plan, whichever is later. Only later instants can be
   * missed.
   */
  readonly since: number;
  /** Maximum of the clock before corrections; 0 if not corrected. */
  readonly reached: number;
}

/** Rejects with a StoreUnavailableError if the store cannot write a new plan or a clock correction. */
export async function readBaseline(
  trigger: ScheduleTrigger,
  host: TriggerHost,
  now: number,
): Promise<ScheduleBaseline> {
  const { store } = host;
  const { name } = trigger;
  const { cron, timezone } = trigger.config;
  const plan = { cron, timezone };
  const note = (await readPlanNote(store, name))?.note;
  const last = await store.lastTick(tickName(name));
  const newest = Math.max(note?.since ?? 0, last ?? 0);
  const reached = note?.reached ?? 0;
  if (newest - now > CORRECTION_MS) {
    const correction = { now, reached: Math.max(newest, reached) };
    await applyCorrection(host, trigger, correction);
    return { since: now, reached: correction.reached };
  }
  if (note !== undefined && isSame(note, plan)) {
    // The trigger was removed and exists again.
    if (note.goneSince !== undefined)
      await writePlanNote(store, name, { ...plan, since: note.since, reached });
    return { since: newest, reached };
  }
  const isLastOfPlan = last !== undefined && (await isOfPlan(plan, name, last, { store }, note));
  const since = isLastOfPlan ? last : now;
  await writePlanNote(store, name, { ...plan, since, reached });
  return { since, reached };
}

/** Returns true if the stored instant belongs to this plan. */
async function isOfPlan(
  plan: SchedulePlan,
  name: string,
  at: number,
  { store }: Pick<TriggerHost, 'store'>,
  note: SchedulePlan | undefined,
): Promise<boolean> {
  const record = await store.delivery(scheduleId(name, at));
  // The delivery record was deleted since. Older versions stored no plan notes; their instants probably
  // belong to this plan.
  if (record === undefined) return note === undefined;
  const { 'schedule.cron': cron, 'schedule.timezone': timezone } = readScheduleEvent(record).context;
  return isSame(plan, { cron: String(cron), timezone: String(timezone) });
}

const isSame = (a: SchedulePlan, b: SchedulePlan) => a.cron === b.cron && a.timezone === b.timezone;
