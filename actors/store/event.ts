// Events of the store: as appended, and as returned by a claim.

/** Default kind: an event from a platform, parsed by its adapter. Other kinds are `timer`, `decision`, … */
export const INBOUND = 'inbound';

export interface NewEvent {
  /**
   * Unique within the retention time: source, trigger and the event's own id, such as
   * `repohost:reviews/72d3…`.
   */
  readonly id: string;
  /** Mailbox of the event. */
  readonly key: string;
  /** Short JSON text for parsing the body; its format belongs to the creator of the event. */
  readonly meta: string;
  /**
   * Body as received. `append` and `tick` transfer a large body, which is empty for the caller afterwards.
   * `commit` copies it, because a commit may be repeated.
   */
  readonly body: Uint8Array;
  /** W3C traceparent. */
  readonly trace: string;
  /** @default INBOUND */
  readonly kind?: string | undefined;
  /**
   * Name to wake: the event wakes the parked event of the key that has this `parkedOn`. An event with `wakes`
   * is called a waker.
   */
  readonly wakes?: string | undefined;
  /**
   * True if a dead event stays dead when the platform redelivers it, which appends the id again. Only an
   * operator can then requeue it. @default false: the redelivered event runs again
   */
  readonly isOnce?: boolean | undefined;
  /** Parsed body, passed on if `append` also claims the event. Not stored. */
  readonly parsed?: unknown;
}

export interface StoredEvent extends NewEvent {
  readonly seq: number;
  /** Time of acceptance, epoch milliseconds. */
  readonly at: number;
  /** Number of the current attempt, from 1. Includes attempts that crashed the process. */
  readonly attempt: number;
  /**
   * Number of earlier attempts that crashed the process, which are not failures of the handler. See
   * machines/crashes.ts.
   */
  readonly crashes: number;
  /** True if an earlier attempt started, even if it is not counted in `attempt`. Its effects are unknown. */
  readonly wasClaimed?: boolean | undefined;
  /** State saved by the last checkpoint or park. */
  readonly state?: string | undefined;
  /** Event that last woke this event; kept until the event parks the next time. */
  readonly woken?: Waker | undefined;
  /** Number of journal steps; undefined if there is no journal. */
  readonly steps?: number | undefined;
}

/** Event that woke another event. */
export interface Waker {
  readonly id: string;
  readonly kind: string;
  readonly meta: string;
  readonly body: Uint8Array;
}
