// Transactions of the embedded engine. A transaction has a single timestamp and detects clock steps. If it
// fails, the mailboxes in memory are rolled back, and the number of unfinished events is recounted. A clock
// step (clock.ts) neither expires claims nor extends pauses, even if it happened between two starts of the
// gateway.

import type { Mailboxes } from '../mailboxes/mailboxes.ts';
import { type EngineClock, type Moment, NO_MOMENT, SqliteClock } from './clock.ts';
import type { SqliteConnection } from './connection.ts';
import type { SqliteDeliveries } from './deliveries.ts';

export class EngineTransactions {
  readonly #connection: SqliteConnection;
  readonly #clock: EngineClock;
  readonly #deliveries: SqliteDeliveries;
  readonly #mailboxes: Mailboxes;
  readonly #recordedClock: SqliteClock;
  /** Moment of the current or last committed transaction. */
  #moment: Moment = NO_MOMENT;
  /** True when a transaction was rolled back: the number of unfinished events must be counted. */
  #isStale = false;

  constructor(
    connection: SqliteConnection,
    clock: EngineClock,
    deliveries: SqliteDeliveries,
    mailboxes: Mailboxes,
  ) {
    this.#connection = connection;
    this.#clock = clock;
    this.#deliveries = deliveries;
    this.#mailboxes = mailboxes;
    this.#recordedClock = new SqliteClock(connection);
  }

  /** Epoch milliseconds. */
  get time(): number {
    return this.#moment.time;
  }

  /** Sum of the clock's steps, in milliseconds. */
  get clockShiftMs(): number {
    return this.#recordedClock.shiftMs;
  }

  /**
   * Runs the first transaction: calls `prepare`, then voids the claims of the previous process. Throws errors
   * of SQLite.
   */
  start(prepare: () => void): void {
    this.run(() => {
      const setByMs = Math.min(0, this.time - this.#recordedClock.lastSeen);
      if (setByMs < 0) this.#recordedClock.onSet(setByMs);
      prepare();
      this.#mailboxes.load(this.time);
    });
  }

  /** Runs the action atomically. Throws errors of the action and of SQLite. */
  run<T>(action: () => T): T {
    const before = this.#moment;
    const moment = this.#clock.after(before);
    const { time, setByMs } = moment;
    this.#mailboxes.begin(time);
    try {
      return this.#connection.transaction(() => {
        this.#moment = moment;
        if (setByMs !== 0) {
          this.#recordedClock.onSet(setByMs);
          this.#mailboxes.onClockSet(setByMs, time);
          this.#recordedClock.record(time);
        }
        if (this.#isStale) this.#deliveries.recount();
        this.#isStale = false;
        return action();
      });
    } catch (error) {
      this.#mailboxes.rollBack();
      this.#moment = before;
      this.#isStale = true;
      throw error;
    }
  }

  /** Records the clock if due, inside a transaction that writes anyway. */
  recordTime(): void {
    if (this.#recordedClock.isStale(this.time)) this.#recordedClock.record(this.time);
  }

  /** Detects clock steps and records the clock in idle periods. Throws errors of SQLite. */
  followClock(): void {
    const { time, setByMs } = this.#clock.after(this.#moment);
    if (setByMs === 0 && !this.#recordedClock.isStale(time)) return;
    this.run(() => this.#recordedClock.record(this.time));
  }
}
