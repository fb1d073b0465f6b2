// Result from a handler that parks: the event releases its concurrency slot, waits in the store, and resumes
// when it is woken or its timer fires.

import type { Effects } from '../../events/inbox/work.ts';

export interface Parked {
  /** Name by which another event wakes this event, unique within the conversation. */
  readonly parkedOn: string;
  readonly wakeInMs?: number | undefined;
  /** True if later events of the conversation must wait. */
  readonly holdsConversation?: boolean | undefined;
  /** True if the handler has not begun its work, because no slot was free (run-slots.ts). */
  readonly isForSlot?: boolean | undefined;
  /** State to store, as with a checkpoint. */
  readonly state?: string | null | undefined;
  readonly effects?: Pick<Effects, 'emit' | 'steps' | 'run' | 'asks'> | undefined;
  /** Note for the delivery record. */
  readonly note?: string | undefined;
}

/** Returns true if the handler has parked instead of answering. */
export function isParked<T extends object>(reply: T | Parked): reply is Parked {
  return 'parkedOn' in reply;
}
