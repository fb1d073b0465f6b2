// An event in the store: as it is appended, and as a claim returns it.

/** The default kind of an event: from a platform, read by its adapter. Other kinds are `timer`, `decision`, … */
export const INBOUND = 'inbound';

export interface NewEvent {
  /** Unique within the retention time: source, trigger and the event's own id, such as `repohost:reviews/72d3…`. */
  readonly id: string;
  /** Mailbox of the event. */
  readonly key: string;
  /** Short JSON text by the creator of the event, for reading the body again. */
  readonly meta: string;
  /**
   * The body as received. `append` and `tick` transfer a large body: it is empty for the caller afterwards. `commit` copies
   * it, because a commit may be repeated.
   */
  readonly body: Uint8Array;
  /** W3C traceparent. */
  readonly trace: string;
  /** @default INBOUND */
  readonly kind?: string | undefined;
  /** Name on which an event of the same key may be parked; this event wakes it. */
  readonly wakes?: string | undefined;
  /** True if a dead event stays dead when this id is appended again. An operator may still run it again. */
  readonly isOnce?: boolean | undefined;
  /** Result of parsing the body, for a turn that comes with the append. Never stored, so undefined in any other turn. */
  readonly parsed?: unknown;
}

export interface StoredEvent extends NewEvent {
  readonly seq: number;
  /** Time of acceptance, epoch ms. */
  readonly at: number;
  /** Number of the current attempt, from 1; attempts that ended with the process count. */
  readonly attempt: number;
  /** Number of earlier attempts that ended with the process, which are no failures of the handler. See machines/crashes.ts. */
  readonly crashes: number;
  /**
   * True if an earlier attempt began, whether or not it counts: a shutdown may have subtracted it, or the event may have all
   * its attempts again. The side effects of that attempt are unknown.
   */
  readonly wasClaimed?: boolean | undefined;
  /** State of the last checkpoint or park. */
  readonly state?: string | undefined;
  /** Event that woke this one last, for each attempt until the next park. */
  readonly woken?: Waker | undefined;
  /** Number of rows in its journal; undefined without a journal. */
  readonly steps?: number | undefined;
}

/** An event that woke another one. */
export interface Waker {
  readonly id: string;
  readonly kind: string;
  readonly meta: string;
  readonly body: Uint8Array;
}
