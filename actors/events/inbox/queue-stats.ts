// Statistics for operators about one work queue. Types only: the inspector's page imports them without Node types.

export interface QueueFigures {
  /** Turns whose outcome was committed. */
  readonly handled: number;
  readonly done: number;
  readonly ignored: number;
  readonly held: number;
  /** Postponed because the receiver is busy; these are not attempts. */
  readonly deferred: number;
  /** Failed attempts. */
  readonly failed: number;
  readonly retried: number;
  readonly dead: number;
  /** Lost claims. */
  readonly lost: number;
  readonly duration_ms: { readonly p50: number | null; readonly p95: number | null };
}

export interface QueueStats extends QueueFigures {
  /** Mailboxes with a turn. */
  readonly active: number;
  readonly resting: number;
  /** Runs that ignore the request to end. */
  readonly overruns: number;
  readonly places: number;
  /** Actor counts by machine state. */
  readonly states: Readonly<Record<string, number>>;
}
