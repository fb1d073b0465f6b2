// Clocks of the embedded store. The timestamp of a transaction comes from the system clock; comparing it with
// a monotonic clock reveals clock steps. A step also moves the due dates in the file, which preserves
// pauses, and is added to the recorded sum of steps (../steady-clock.ts). At a backward step of less
// than CLOCK_STEP_MS, the timestamp stays constant until the system clock has caught up. The file records the
// time every RECORD_EVERY_MS, to detect at the next start that the clock moved backwards while the gateway
// was stopped. The record can be RECORD_EVERY_MS old, so pauses grow by this interval at most.

import { approvalStates } from '../approval-row.ts';
import { firstNonBlocking } from '../delivery-states.ts';
import { CLOCK_SHIFT, CLOCK_SPACE } from '../steady-clock.ts';
import type { SqliteConnection, SqliteStatement } from './connection.ts';

/** Transaction start. */
export interface Moment {
  /** Epoch milliseconds. */
  readonly time: number;
  /** Monotonic milliseconds. */
  readonly uptimeMs: number;
  /** Step of the system clock since the previous moment; 0 for small steps. */
  readonly setByMs: number;
}

/** Moment before the first transaction. */
export const NO_MOMENT: Moment = { time: 0, uptimeMs: 0, setByMs: 0 };

/** Smaller clock steps do not move timestamps. */
const CLOCK_STEP_MS = 1_000;

export class EngineClock {
  readonly #now: () => number;
  readonly #uptime: (() => number) | undefined;

  /**
   * `now` returns epoch milliseconds, `uptime` monotonic milliseconds. Without `uptime`, steps forward count
   * as elapsed time.
   */
  constructor(now: () => number, uptime: (() => number) | undefined) {
    this.#now = now;
    this.#uptime = uptime;
  }

  /** Returns the current moment, based on the last one. */
  after(last: Moment): Moment {
    const clock = this.#now();
    const uptimeMs = this.#uptime?.() ?? last.uptimeMs + Math.max(0, clock - last.time);
    const setByMs = last === NO_MOMENT ? 0 : Math.round(clock - last.time - (uptimeMs - last.uptimeMs));
    if (Math.abs(setByMs) > CLOCK_STEP_MS) return { time: clock, uptimeMs, setByMs };
    return { time: Math.max(last.time, clock), uptimeMs, setByMs: 0 };
  }
}

export const RECORD_EVERY_MS = 10_000;

export class SqliteClock {
  readonly #last: SqliteStatement<readonly [number]>;
  readonly #record: SqliteStatement<readonly []>;
  readonly #moves: readonly SqliteStatement<readonly []>[];
  readonly #shift: SqliteStatement<readonly [string]>;
  readonly #addShift: SqliteStatement<readonly []>;
  #recordedAt = 0;

  constructor(connection: SqliteConnection) {
    this.#last = connection.prepare('SELECT at FROM clock');
    this.#record = connection.prepare('UPDATE clock SET at = ?');
    this.#moves = [
      `UPDATE delivery SET retry_at = retry_at + ? WHERE state < ${firstNonBlocking} AND retry_at IS NOT NULL`,
      'UPDATE delivery SET retry_at = retry_at + ? WHERE waits_for IS NOT NULL AND retry_at IS NOT NULL',
      'UPDATE timer SET due = due + ?',
      `UPDATE approval SET expires = expires + ? WHERE state = ${approvalStates.pending} AND expires IS NOT NULL`,
      'UPDATE kv SET until = until + ? WHERE until IS NOT NULL',
      'UPDATE lease SET until = until + ?',
    ].map((sql) => connection.prepare(sql));
    this.#shift = connection.prepare(
      `SELECT value FROM kv WHERE space = '${CLOCK_SPACE}' AND key = '${CLOCK_SHIFT}'`,
    );
    this.#addShift = connection.prepare(
      `INSERT INTO kv (space, key, value, version, until) VALUES ('${CLOCK_SPACE}', '${CLOCK_SHIFT}', CAST(CAST(?1 AS INTEGER) AS TEXT), 0, NULL)
       ON CONFLICT (space, key) DO UPDATE SET value = CAST(CAST(value AS INTEGER) + CAST(?1 AS INTEGER) AS TEXT)`,
    );
  }

  /** Last recorded activity of the store, epoch milliseconds. */
  get lastSeen(): number {
    return this.#last.get([])?.[0] ?? 0;
  }

  /** Sum of the clock's steps, in milliseconds. */
  get shiftMs(): number {
    return Number(this.#shift.get([])?.[0] ?? 0);
  }

  /** Returns true if the time must be recorded. */
  isStale(now: number): boolean {
    return now < this.#recordedAt || now >= this.#recordedAt + RECORD_EVERY_MS;
  }

  record(now: number): void {
    this.#record.run([now]);
    this.#recordedAt = now;
  }

  /** Adjusts stored timestamps to a clock step. */
  onSet(byMs: number): void {
    for (const move of this.#moves) move.run([byMs]);
    this.#addShift.run([byMs]);
  }
}
