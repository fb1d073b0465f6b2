// Since when somebody has been waiting for the instants of a schedule. With a trigger's first load its plan, that is its
// expression and its zone, is noted in the store under the trigger's name; another plan is noted anew. So what passes
// between the first load and the first instant can be missed too, and what passed before it cannot.

import type { ScheduleTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { SourceHost } from '../adapter.ts';
import { CORRECTION_MS, goOnFrom } from './clock-correction.ts';
import { readScheduleEvent, scheduleId, tickName } from './event.ts';
import { notedPlan, notePlan, type Plan } from './plan-notes.ts';

/** Both in epoch ms. */
export interface Awaited {
  /** Instants after this one have been awaited: the newest that counted, or the first load of this plan, whichever is later. */
  readonly since: number;
  /** How far the clock had come before it was set back, if ever. */
  readonly reached: number;
}

/** Rejects with a StoreUnavailableError where a new plan, or a correction of the clock, cannot be noted. */
export async function awaitedSince(
  trigger: ScheduleTrigger,
  host: SourceHost,
  now: number,
): Promise<Awaited> {
  const { store } = host;
  const { name } = trigger;
  const { cron, timezone } = trigger.config;
  const plan = { cron, timezone };
  const noted = (await notedPlan(store, name))?.note;
  const last = await store.lastTick(tickName(name));
  const newest = Math.max(noted?.since ?? 0, last ?? 0);
  const reached = noted?.reached ?? 0;
  if (newest - now > CORRECTION_MS) {
    const correction = { now, reached: Math.max(newest, reached) };
    await goOnFrom(host, trigger, correction);
    return { since: now, reached: correction.reached };
  }
  if (noted !== undefined && isSame(noted, plan)) {
    // It was gone for a while, and is there again.
    if (noted.goneSince !== undefined) await notePlan(store, name, { ...plan, since: noted.since, reached });
    return { since: newest, reached };
  }
  const hasCounted = last !== undefined && (await isOfPlan(plan, name, last, { store }, noted));
  const since = hasCounted ? last : now;
  await notePlan(store, name, { ...plan, since, reached });
  return { since, reached };
}

/** Whether an instant that counted was one of this plan. */
async function isOfPlan(
  plan: Plan,
  name: string,
  at: number,
  { store }: Pick<SourceHost, 'store'>,
  noted: Plan | undefined,
): Promise<boolean> {
  const record = await store.delivery(scheduleId(name, at));
  // Swept meanwhile. In a store from before plans were noted it probably was.
  if (record === undefined) return noted === undefined;
  const { 'schedule.cron': cron, 'schedule.timezone': timezone } = readScheduleEvent(record).context;
  return isSame(plan, { cron: String(cron), timezone: String(timezone) });
}

const isSame = (one: Plan, other: Plan) => one.cron === other.cron && one.timezone === other.timezone;
