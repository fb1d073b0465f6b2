// Statistics per work queue, for operators. This file has only types, because the inspector's page, which has
// no Node types, imports it.

export interface QueueFigures {
  /** Committed outcomes. */
  readonly handled: number;
  readonly done: number;
  readonly ignored: number;
  readonly held: number;
  /** Deferred because the receiver is rate limited; not counted as attempts. */
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
  /** Mailboxes that process an event. */
  readonly active: number;
  /** Idle mailboxes that keep their actor for reuse. */
  readonly resting: number;
  /** Zombie runs: aborted runs that still execute, without a slot. */
  readonly overruns: number;
  /** Maximum number of concurrent runs. */
  readonly places: number;
  /** Number of actors by machine state. */
  readonly states: Readonly<Record<string, number>>;
}
