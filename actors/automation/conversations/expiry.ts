// Expires an event at the platform's reply deadline if it is then held or queued. The expiry is a separate
// event in the second mailbox of the conversation, because the first mailbox may be blocked.

import type { Assignment, WorkOutcome } from '../../events/inbox/work.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { controlKeyOf, conversationKeyOf } from '../../store/key-kinds.ts';
import type { Store } from '../../store/store.ts';

/** Kind of expiry events. */
export const OVERDUE = 'overdue';
const WAITING_STATES: ReadonlySet<string> = new Set(['held', 'queued']);

export interface ExpiryHost {
  readonly records: Pick<Store, 'delivery'>;
  /** Returns the notices to the sender about the late answer. */
  lateNotices(event: StoredEvent, trigger: string | undefined): readonly NewEvent[];
  discard(id: string, note: string): Promise<unknown>;
}

/** Returns the event's expiry; `meta` contains the event id. */
export function overdueEvent({ id, key, trace }: StoredEvent): NewEvent {
  const own = controlKeyOf(conversationKeyOf(key));
  return { id: `overdue:${id}`, key: own, kind: OVERDUE, meta: id, body: new Uint8Array(), trace };
}

/** Handles an expiry: discards the event if it is still held or queued. */
export async function expireEvent(
  { event: { meta: id }, checkpoint }: Assignment,
  { records, lateNotices, discard }: ExpiryHost,
): Promise<WorkOutcome> {
  const delivery = await records.delivery(id);
  if (delivery === undefined || !WAITING_STATES.has(delivery.state))
    return { kind: 'ignored', note: 'the event is no longer held or queued' };
  const { receivedAt: at, attempts: attempt } = delivery;
  // Stored first: the final notices of an event have the same row id, so the store then drops the discard's.
  await checkpoint(undefined, {
    emit: lateNotices({ ...delivery, at, attempt, state: undefined }, delivery.trigger),
  });
  await discard(id, 'not handled within the reply time of the platform');
  return { kind: 'done' };
}
