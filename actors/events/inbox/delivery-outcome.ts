// Delivery outcome, for waiting callers. Parking (state `waiting`) counts as an outcome, since it can last
// for days.

export interface DeliveryOutcome {
  readonly state: 'done' | 'dead' | 'ignored' | 'waiting';
  readonly answer: string | undefined;
  readonly note: string | undefined;
  /** Name that wakes the parked delivery, in state `waiting`. */
  readonly waitingFor?: string | undefined;
  /** Time at which a timer wakes the parked delivery, epoch ms. */
  readonly until?: number | undefined;
}
