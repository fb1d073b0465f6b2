// The transactions of the engine: each uses one time, notices whether the clock was set since the last one, and rolls back the
// state in memory when it fails.
//
// A transaction uses the time at which it began throughout (LG1).
//
// ET2  after a failed transaction the state in memory is the one before it, or is read anew from the file.
// ET3  time by which the clock was set (EC2) has not passed: no claim expires and no pause ends or grows by it, also when it
//      was set between two runs of the process.

import type { Mailboxes } from '../mailboxes/mailboxes.ts';
import { type EngineClock, type Moment, NO_MOMENT, SqliteClock } from './clock.ts';
import type { SqliteConnection } from './connection.ts';
import type { SqliteDeliveries } from './deliveries.ts';

export class EngineTransactions {
  readonly #connection: SqliteConnection;
  readonly #clock: EngineClock;
  readonly #deliveries: SqliteDeliveries;
  readonly #mailboxes: Mailboxes;
  readonly #noted: SqliteClock;
  /** At which the transaction began, or the last one that was committed. */
  #moment: Moment = NO_MOMENT;
  /** A transaction was rolled back since the file was counted. */
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
    this.#noted = new SqliteClock(connection);
  }

  /** Epoch ms. */
  get time(): number {
    return this.#moment.time;
  }

  /** The first transaction: ends the claims of the process before, after `prepare`. Throws errors of SQLite. */
  start(prepare: () => void): void {
    this.run(() => {
      const setByMs = Math.min(0, this.time - this.#noted.lastSeen);
      if (setByMs < 0) this.#noted.onSet(setByMs);
      prepare();
      this.#mailboxes.load(this.time);
    });
  }

  /** All or nothing. Throws what the action throws, and errors of SQLite. */
  run<T>(action: () => T): T {
    const before = this.#moment;
    const moment = this.#clock.after(before);
    const { time, setByMs } = moment;
    this.#mailboxes.begin(time);
    try {
      return this.#connection.transaction(() => {
        this.#moment = moment;
        if (setByMs !== 0) {
          this.#noted.onSet(setByMs);
          this.#mailboxes.onClockSet(setByMs, time);
          this.#noted.note(time);
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

  /** Inside a transaction that writes anyway: notes its time, when that is due. */
  noteTime(): void {
    if (this.#noted.isStale(this.time)) this.#noted.note(this.time);
  }

  /** For when nothing else happens: notices that the clock was set, and notes the time. Throws errors of SQLite. */
  keepTime(): void {
    const { time, setByMs } = this.#clock.after(this.#moment);
    if (setByMs === 0 && !this.#noted.isStale(time)) return;
    this.run(() => this.#noted.note(this.time));
  }
}
