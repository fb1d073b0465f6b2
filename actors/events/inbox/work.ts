// A kind of work: what is done with one event. This is the seam between the dispatcher, which knows of claims, order and
// attempts, and those who know what an event means. The key of a mailbox says which kind it is for.

import type { TriggerRetry } from '../../../config/resources/triggers/trigger-of.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import type { TurnResult } from '../../store/store.ts';

/** What is to happen with a checkpoint, together with it. */
export type Effects = Pick<
  TurnResult,
  'snapshot' | 'emit' | 'timers' | 'cancelTimers' | 'steps' | 'run' | 'asks'
>;

export interface Assignment {
  readonly event: StoredEvent;
  readonly snapshot: string | undefined;
  /** Aborted at the deadline, and when the claim was lost. */
  readonly signal: AbortSignal;
  /**
   * Keeps a state for the attempts after this one, which find it in `event.state`; undefined leaves it as it is, null removes
   * it; `steps` are rows for its journal. The attempt goes on once that is durable. Rejects when the claim is lost, and when
   * the store refuses it: then nothing of it was taken. What is not awaited is waited for before the outcome is committed.
   */
  checkpoint(state: string | null | undefined, effects?: Effects): Promise<void>;
}

/**
 * What whoever sent an event is told of it beside an answer: that it waits; or that there will be none, since nobody takes it,
 * it may not be asked there or by them, it was stopped, it took too long, or it failed.
 */
export type Notice = 'waits' | 'untaken' | 'refused' | 'stopped' | 'late' | 'failed';

/** Of what is to be tried again, or has to wait. */
interface NotAfter {
  /**
   * Epoch ms. Nobody wants it after that: it is given up where the next attempt would come later, and whoever sent what still
   * waits then is told that it took too long.
   */
  readonly notAfter?: number | undefined;
}

export type Outcome =
  /** What is to be committed with it; see there. */
  | ({
      readonly kind: 'done' | 'ignored';
      /** Whoever sent it is told so. */
      readonly notice?: Notice | undefined;
    } & Pick<TurnResult, 'trigger' | 'note' | 'answer' | 'by' | 'receipt'> &
      Effects)
  /**
   * It is to go on when an event of its key wakes that name, and gives its claim and its place back until then. The name is
   * unique among what waits in its key; where a timer is to wake it, that is one of `timers`.
   */
  | ({ readonly kind: 'parked'; readonly parkedOn: string } & Pick<
      TurnResult,
      'state' | 'holdsKey' | 'trigger' | 'note'
    > &
      Effects)
  /** A paused trigger would take it: it stays first until that trigger is resumed. */
  | ({ readonly kind: 'held'; readonly trigger: string } & NotAfter)
  /** There is no place for it at present (work-places.ts): it was no attempt, and waits until that name is released. */
  | ({
      readonly kind: 'queued';
      readonly heldBy: string;
      readonly trigger: string;
      readonly note: string;
    } & NotAfter)
  /**
   * Not now: the other side takes no more before that time. It is no attempt, within bounds
   * (machines/redelivery.ts, R4), and waits without a place.
   */
  | ({
      readonly kind: 'deferred';
      readonly trigger?: string | undefined;
      readonly note: string;
      readonly inMs: number;
      /** The other side was not even asked, and the event will have its turn: it waits for it as long as that takes. */
      readonly isUnasked?: boolean | undefined;
      /** It may have been done all the same: the next turn is told that one was begun before. */
      readonly mayBeDone?: boolean | undefined;
      readonly retry: TriggerRetry;
    } & NotAfter)
  | ({
      readonly kind: 'failed';
      /** What is told when it is given up by this. @default 'failed' */
      readonly notice?: Notice | undefined;
      readonly trigger?: string | undefined;
      readonly note: string;
      /** Trying again cannot help. */
      readonly isFinal?: boolean | undefined;
      /** Not before this, as the other side asked. */
      readonly retryAfterMs?: number | undefined;
      readonly retry: TriggerRetry;
    } & NotAfter);

export interface Work {
  /** Mailboxes whose keys begin with this are its own: `conversation/`, `outbox/`. */
  readonly prefix: string;
  /** How long one attempt at this event may take. */
  timeoutMs(event: StoredEvent): number;
  /** What it throws counts as a failed attempt that may be repeated. */
  perform(assignment: Assignment): Promise<Outcome>;
  /**
   * What is sent to say that an event ends without an answer, or has to wait for longer than a moment; for whatever reason, so
   * that nobody waits for an answer that does not come. `trigger` has taken it, where one has. What it throws is told to the log.
   */
  notice?(event: StoredEvent, notice: Notice, trigger?: string): readonly NewEvent[];
  /** What ends an event that still waits when nobody wants it any more (`notAfter`). */
  overdue?(event: StoredEvent): NewEvent;
  /**
   * An event is held by that name from now on: that of a trigger, which may have been resumed since the event was judged, or
   * what it waits for to have a place.
   */
  onHeld?(name: string): void;
}
