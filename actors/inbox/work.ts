// What is done with one event: the seam between the dispatcher, which knows of claims, order and attempts, and those
// who know what an event means. A mailbox's key says which work it is for.

import type { TriggerRetry } from '../../config/resources/trigger.ts';
import type { StoredEvent, TurnResult } from '../store/store.ts';

export interface Assignment {
  readonly event: StoredEvent;
  readonly snapshot: string | undefined;
  /** Aborted at the deadline, and when the claim was lost. */
  readonly signal: AbortSignal;
}

export type Outcome =
  /** What is to be committed with it; see there. */
  | ({ readonly kind: 'done' | 'ignored' } & Pick<
      TurnResult,
      'trigger' | 'note' | 'answer' | 'receipt' | 'snapshot' | 'emit' | 'timers' | 'cancelTimers'
    >)
  /** A paused trigger would take it: it stays first until that trigger is resumed. */
  | { readonly kind: 'held'; readonly trigger: string }
  /** There is no place for it at present (work-places.ts): it was no attempt, and waits until that name is released. */
  | { readonly kind: 'queued'; readonly heldBy: string; readonly trigger: string; readonly note: string }
  /**
   * Not now: nothing was done, since the other side takes no more before that time. It is no attempt, within bounds
   * (machines/redelivery.ts, R4), and waits without a place.
   */
  | {
      readonly kind: 'deferred';
      readonly trigger?: string | undefined;
      readonly note: string;
      readonly inMs: number;
      readonly retry: TriggerRetry;
    }
  | {
      readonly kind: 'failed';
      readonly trigger?: string | undefined;
      readonly note: string;
      /** Trying again cannot help. */
      readonly isFinal?: boolean | undefined;
      /** Not before this, as the other side asked. */
      readonly retryAfterMs?: number | undefined;
      readonly retry: TriggerRetry;
    };

export interface Work {
  /** Mailboxes whose keys begin with this are its own: `conversation/`, `outbox/`. */
  readonly prefix: string;
  /** How long one attempt at this event may take. */
  timeoutMs(event: StoredEvent): number;
  /** What it throws counts as a failed attempt that may be repeated. */
  perform(assignment: Assignment): Promise<Outcome>;
  /**
   * An event is held by that name from now on: that of a trigger, which may have been resumed since the event was judged, or
   * what it waits for to have a place.
   */
  onHeld?(name: string): void;
}
