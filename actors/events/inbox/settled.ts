// The outcome of a delivery for those who wait for it. A parked delivery counts, since its end is unknown.

export interface Settled {
  readonly state: 'done' | 'dead' | 'ignored' | 'waiting';
  readonly answer: string | undefined;
  readonly note: string | undefined;
  /** Name that wakes a delivery in state `waiting`. */
  readonly waitingFor?: string | undefined;
  /** Time at which a timer wakes it, epoch ms. */
  readonly until?: number | undefined;
}
