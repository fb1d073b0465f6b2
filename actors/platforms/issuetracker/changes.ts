// What an update has changed, as the tracker tells it: for an agent that is to act on a status alone, say.

import { memberOf, textMember } from '../payloads/payload-member.ts';

/** Of each update; the payload has all of them, in full. */
const MAX_CHANGES = 50;
const MAX_TEXT = 200;

export interface Change {
  readonly field: string;
  /** As people read them; null for none. */
  readonly from: string | null;
  readonly to: string | null;
}

/** Undefined where nothing is said of it. */
export function changesIn(payload: unknown): readonly Change[] | undefined {
  const items = memberOf(payload, 'changelog.items');
  if (!Array.isArray(items)) return undefined;
  const changes = items.slice(0, MAX_CHANGES).flatMap((item: unknown) => {
    const field = textMember(item, 'field');
    if (field === undefined) return [];
    // The second name is the one that every object has as a method.
    return { field, from: shown(item, 'fromString'), to: shown(item, 'toString') };
  });
  return changes.length === 0 ? undefined : changes;
}

function shown(item: unknown, name: string): string | null {
  return textMember(item, name)?.slice(0, MAX_TEXT).toWellFormed() ?? null;
}
