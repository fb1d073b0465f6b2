// Result of a handler that waits: the event releases its slot, and continues when it is woken or after a while.

import type { Effects } from '../../events/inbox/work.ts';

export interface Parked {
  /** Name that wakes the event, unique among the waiting events of its conversation. */
  readonly parkedOn: string;
  readonly wakeInMs?: number | undefined;
  /** True if later events of the conversation wait too. */
  readonly holdsConversation?: boolean | undefined;
  /** State to keep, as with a checkpoint. */
  readonly state?: string | null | undefined;
  readonly effects?: Pick<Effects, 'emit' | 'steps' | 'run' | 'asks'> | undefined;
  /** Note for the record. */
  readonly note?: string | undefined;
}

/** Returns true if a handler's result is a wait. */
export function isParked<T extends object>(reply: T | Parked): reply is Parked {
  return 'parkedOn' in reply;
}
