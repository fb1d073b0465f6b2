// Stored plans of schedules (plan notes), by trigger name: expression, zone, and the lower bound for missed
// instants.

import type { Store } from '../../store/store.ts';

const SPACE = 'schedule';

export interface SchedulePlan {
  readonly cron: string;
  readonly timezone: string;
}

/** Times are epoch ms. */
export interface PlanNote extends SchedulePlan {
  readonly since: number;
  /** Maximum of the clock before corrections; see clock-correction.ts. */
  readonly reached?: number;
  /** First check that found the trigger removed. */
  readonly goneSince?: number;
}

/** Returns a trigger's note and its version in the store. */
export async function readPlanNote(
  store: Store,
  trigger: string,
): Promise<{ readonly note: PlanNote; readonly version: number } | undefined> {
  const row = await store.get(SPACE, trigger);
  if (row === undefined) return undefined;
  return { note: JSON.parse(row.value) as PlanNote, version: row.version };
}

/** Writes a note. With `ifVersion`, replaces only that version. */
export async function writePlanNote(
  store: Store,
  trigger: string,
  note: PlanNote,
  ifVersion?: number,
): Promise<void> {
  await store.put(SPACE, trigger, JSON.stringify(note), ifVersion === undefined ? {} : { ifVersion });
}

export function deletePlanNote(store: Store, trigger: string): Promise<void> {
  return store.delete(SPACE, trigger);
}

/** Returns the names of triggers with a note. */
export function listNotedTriggers(store: Store): Promise<readonly string[]> {
  return store.keys(SPACE);
}
