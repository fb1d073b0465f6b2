// Interface between the dispatcher, which manages claims, order and attempts, and the kinds of work, which
// handle events. The prefix of an event's key selects the kind of work.

import type { TriggerRetry } from '../../../config/resources/triggers/trigger-of.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import type { TurnResult } from '../../store/store.ts';

/** Changes that are committed atomically with a checkpoint or an outcome. */
export type Effects = Pick<
  TurnResult,
  'snapshot' | 'emit' | 'timers' | 'cancelTimers' | 'steps' | 'run' | 'asks'
>;

/** Input of an attempt. */
export interface Assignment {
  readonly event: StoredEvent;
  readonly snapshot: string | undefined;
  /** Aborted at the deadline, on cancellation, and when the claim is lost. */
  readonly signal: AbortSignal;
  /**
   * Stores a state that later attempts receive in `event.state`; undefined keeps the stored state, null
   * removes it. `effects.steps` are journal steps. Resolves when the checkpoint is durable. Rejects if the
   * claim is lost, or if the store refuses the checkpoint and stores nothing. The outcome is committed after
   * all pending checkpoints.
   */
  checkpoint(state: string | null | undefined, effects?: Effects): Promise<void>;
}

/**
 * Kind of notice to the sender of an unanswered event. `waits`: the event is delayed. `unmatched`: no trigger
 * accepts it. `refused`: not allowed in this place or for this sender. `stopped`: cancelled. `late`: not
 * handled before `notAfter`. `failed`: all attempts failed.
 */
export type Notice = 'waits' | 'unmatched' | 'refused' | 'stopped' | 'late' | 'failed';

interface NotAfter {
  /**
   * Latest useful time of the result, epoch ms. A retry that would start later is not made: the event is
   * dead. An event that is still waiting at this time expires, and the sender gets the notice `late`.
   */
  readonly notAfter?: number | undefined;
}

export type WorkOutcome =
  /** The event is handled; for the fields see TurnResult. */
  | ({
      readonly kind: 'done' | 'ignored';
      /** Notice to the sender. */
      readonly notice?: Notice | undefined;
    } & Pick<TurnResult, 'trigger' | 'note' | 'answer' | 'by' | 'receipt'> &
      Effects)
  /**
   * The event is parked: it releases its claim and slot, and waits under the name `parkedOn`, which is unique
   * among the parked events of the key. Another event of the key, or a timer in `timers`, wakes it by this
   * name.
   */
  | ({ readonly kind: 'parked'; readonly parkedOn: string } & Pick<
      TurnResult,
      'state' | 'holdsKey' | 'trigger' | 'note'
    > &
      Effects)
  /**
   * The trigger is paused: the event keeps its position in the queue until the trigger is resumed. The store
   * holds it under the name of the trigger.
   */
  | ({ readonly kind: 'held'; readonly trigger: string } & NotAfter)
  /**
   * No slot is free: the event stays queued until the store releases the events with the name `heldBy`, a
   * slot group (work-slots.ts). Not counted as an attempt.
   */
  | ({
      readonly kind: 'queued';
      readonly heldBy: string;
      readonly trigger: string;
      readonly note: string;
    } & NotAfter)
  /**
   * The receiver is rate limited for `inMs`. Not counted as an attempt, up to a limit
   * (machines/redelivery.ts). The event needs no slot until the next try.
   */
  | ({
      readonly kind: 'deferred';
      readonly trigger?: string | undefined;
      readonly note: string;
      readonly inMs: number;
      /** True if the receiver was not contacted: such deferrals are unlimited. */
      readonly isUncontacted?: boolean | undefined;
      /**
       * True if the action possibly succeeded. The next attempt has `event.wasClaimed`, and can check for an
       * earlier success.
       */
      readonly mayHaveSucceeded?: boolean | undefined;
      readonly retry: TriggerRetry;
    } & NotAfter)
  | ({
      readonly kind: 'failed';
      /** Notice to the sender if no retry follows. @default 'failed' */
      readonly notice?: Notice | undefined;
      readonly trigger?: string | undefined;
      readonly note: string;
      /** Retrying cannot help. */
      readonly isFinal?: boolean | undefined;
      /** Minimum delay before the retry, as requested by the receiver. */
      readonly retryAfterMs?: number | undefined;
      readonly retry: TriggerRetry;
    } & NotAfter);

export interface Work {
  /** Prefix of the mailbox keys of this work: `conversation/`, `outbox/`. */
  readonly prefix: string;
  /** Returns the timeout for attempts at this event. */
  timeoutMs(event: StoredEvent): number;
  /** Handles the event. A rejection counts as a failed attempt that may be retried. */
  perform(assignment: Assignment): Promise<WorkOutcome>;
  /**
   * Returns outbox messages that notify the sender about an unanswered or delayed event. `trigger` is the
   * trigger that accepted the event, if any. The caller logs errors.
   */
  noticeRows?(event: StoredEvent, notice: Notice, trigger?: string): readonly NewEvent[];
  /** Returns a timer event that settles the waiting event at `notAfter`. */
  expiryEvent?(event: StoredEvent): NewEvent;
  /**
   * Called when the store has kept an event under a name, after the outcome `held` or `queued`. The name is a
   * trigger, which was possibly resumed in the meantime, or a slot group (work-slots.ts).
   */
  onQueued?(name: string): void;
}
