// Statistics of a work queue, for operators. Types only.

export interface QueueFigures {
  /** Turns whose outcome was committed. */
  readonly handled: number;
  readonly done: number;
  readonly ignored: number;
  readonly held: number;
  /** Put off because the other side takes no more for now: no attempts. */
  readonly deferred: number;
  /** Failed attempts. */
  readonly failed: number;
  readonly retried: number;
  readonly dead: number;
  /** Claims that were lost. */
  readonly lost: number;
  readonly duration_ms: { readonly p50: number | null; readonly p95: number | null };
}

export interface QueueStats extends QueueFigures {
  /** Mailboxes with a turn. */
  readonly active: number;
  readonly resting: number;
  /** Runs that go on although they were told to end and waited for. */
  readonly overruns: number;
  readonly places: number;
  /** Actors by the state of their machine. */
  readonly states: Readonly<Record<string, number>>;
}
