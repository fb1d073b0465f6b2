// Extracts the changed fields of an issue update, for agents that react only to certain changes.

import { memberOf, textMember } from '../payloads/payload-member.ts';

/** Maximum number of changes per update; the payload contains all. */
const MAX_CHANGES = 50;
const MAX_TEXT = 200;

export interface FieldChange {
  readonly field: string;
  /** Display values; null if empty. */
  readonly from: string | null;
  readonly to: string | null;
}

/** Returns the changes, if any. */
export function changesIn(payload: unknown): readonly FieldChange[] | undefined {
  const items = memberOf(payload, 'changelog.items');
  if (!Array.isArray(items)) return undefined;
  const changes = items.slice(0, MAX_CHANGES).flatMap((item: unknown) => {
    const field = textMember(item, 'field');
    if (field === undefined) return [];
    // `toString` is the member's name in the payload, not the method.
    return { field, from: displayValue(item, 'fromString'), to: displayValue(item, 'toString') };
  });
  return changes.length === 0 ? undefined : changes;
}

function displayValue(item: unknown, name: string): string | null {
  return textMember(item, name)?.slice(0, MAX_TEXT).toWellFormed() ?? null;
}
