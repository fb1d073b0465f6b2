// The plans of schedules as they are noted in the store, each under its trigger's name: an expression and a zone, and since
// when somebody has been waiting for their instants.

import type { Store } from '../../store/store.ts';

const SPACE = 'schedule';

export interface Plan {
  readonly cron: string;
  readonly timezone: string;
}

/** Times are epoch ms. */
export interface PlanNote extends Plan {
  readonly since: number;
  /** How far the clock had come before it was set back; see clock-correction.ts. */
  readonly reached?: number;
  /** When it was first seen that there is no such trigger any more. */
  readonly goneSince?: number;
}

/** The note of that trigger, and its version in the store. */
export async function notedPlan(
  store: Store,
  trigger: string,
): Promise<{ readonly note: PlanNote; readonly version: number } | undefined> {
  const found = await store.get(SPACE, trigger);
  if (found === undefined) return undefined;
  return { note: JSON.parse(found.value) as PlanNote, version: found.version };
}

/** Writes the note; with `ifVersion` not over a newer one. */
export async function notePlan(
  store: Store,
  trigger: string,
  note: PlanNote,
  ifVersion?: number,
): Promise<void> {
  await store.put(SPACE, trigger, JSON.stringify(note), ifVersion === undefined ? {} : { ifVersion });
}

export function forgetPlan(store: Store, trigger: string): Promise<void> {
  return store.delete(SPACE, trigger);
}

/** Names of the triggers with a note. */
export function notedTriggers(store: Store): Promise<readonly string[]> {
  return store.keys(SPACE);
}
