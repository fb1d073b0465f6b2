// Rules about the first event of a mailbox that both store engines share.

import type { TurnResult } from './store.ts';

interface FirstEventState {
  readonly isHeld: boolean;
  /** Epoch milliseconds. */
  readonly retryAt: number | null;
}

/** Returns true if the event can be handled now. */
export function canStart<Event extends FirstEventState>(
  first: Event | undefined,
  now: number,
): first is Event {
  return first !== undefined && !first.isHeld && (first.retryAt ?? 0) <= now;
}

/** Returns true if the event stays in its mailbox after the turn. */
export function isUnfinished(outcome: TurnResult['outcome']): boolean {
  return outcome === 'retrying' || outcome === 'deferred' || outcome === 'held' || outcome === 'queued';
}
