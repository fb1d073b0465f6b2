// The end of an event that waits, for its trigger or a place, until its platform takes no answer any more: an event of its own,
// in the mailbox beside the conversation, since in the conversation itself it would wait as well.

import { controlKey, conversationKeyOf } from '../../events/built-in-commands.ts';
import type { Assignment, Outcome } from '../../events/inbox/work.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import type { Store } from '../../store/store.ts';

/** The kind of such an event. */
export const OVERDUE = 'overdue';
const WAITS: ReadonlySet<string> = new Set(['held', 'queued']);

export interface EndsLate {
  readonly records: Pick<Store, 'delivery'>;
  /** What its sender is told. */
  late(event: StoredEvent, trigger: string | undefined): readonly NewEvent[];
  discard(id: string, note: string): Promise<unknown>;
}

export function overdueEvent({ id, key, trace }: StoredEvent): NewEvent {
  const own = controlKey(conversationKeyOf(key));
  return { id: `overdue:${id}`, key: own, kind: OVERDUE, meta: id, body: new Uint8Array(), trace };
}

/** Ends the one that waits. One that has had its turn is left alone. */
export async function endLate(
  { event: { meta: id }, checkpoint }: Assignment,
  { records, late, discard }: EndsLate,
): Promise<Outcome> {
  const found = await records.delivery(id);
  if (found === undefined || !WAITS.has(found.state))
    return { kind: 'ignored', note: 'what it was to end waits no more' };
  const { receivedAt: at, attempts: attempt } = found;
  // First, so that this is what is told of its end.
  await checkpoint(undefined, { emit: late({ ...found, at, attempt, state: undefined }, found.trigger) });
  await discard(id, 'nobody was asked in the time within which the platform takes an answer');
  return { kind: 'done' };
}
