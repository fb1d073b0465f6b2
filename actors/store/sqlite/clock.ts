// Store clocks: transaction times from the system clock and a monotonic clock, and the last activity recorded in the file. After
// a step of the system clock, due times in the file move with it, so that pauses keep their length.
//
// EC1  a step back by less than CLOCK_STEP_MS is not followed: time stands still until the system clock has caught up.
// EC2  the time measured by both clocks has passed; the difference between them is the step of the system clock.
// SK1  while events wait, the file records the time at least every NOTED_EVERY_MS: if the clock is set back while the gateway is
//      stopped, pauses grow by at most this time.

import type { SqliteConnection, Statement } from './connection.ts';

/** Start of a transaction. */
export interface Moment {
  /** Epoch milliseconds. */
  readonly time: number;
  /** Time of the monotonic clock. */
  readonly uptimeMs: number;
  /** Step of the system clock since the previous moment; 0 for small steps. */
  readonly setByMs: number;
}

/** Moment before the first transaction. */
export const NO_MOMENT: Moment = { time: 0, uptimeMs: 0, setByMs: 0 };

/** Smaller steps of the clock are ignored; for a smaller step back the engine waits. */
const CLOCK_STEP_MS = 1_000;

export class EngineClock {
  readonly #now: () => number;
  readonly #uptime: (() => number) | undefined;

  /** `now` returns epoch milliseconds, `uptime` monotonic milliseconds; without `uptime` steps forward count as elapsed time. */
  constructor(now: () => number, uptime: (() => number) | undefined) {
    this.#now = now;
    this.#uptime = uptime;
  }

  /** Returns the current moment after the given one. */
  after(last: Moment): Moment {
    const clock = this.#now();
    const uptimeMs = this.#uptime?.() ?? last.uptimeMs + Math.max(0, clock - last.time);
    const setByMs = last === NO_MOMENT ? 0 : clock - last.time - (uptimeMs - last.uptimeMs);
    if (Math.abs(setByMs) > CLOCK_STEP_MS) return { time: clock, uptimeMs, setByMs };
    return { time: Math.max(last.time, clock), uptimeMs, setByMs: 0 };
  }
}

export const NOTED_EVERY_MS = 10_000;

export class SqliteClock {
  readonly #last: Statement<readonly [number]>;
  readonly #note: Statement<readonly []>;
  readonly #moves: readonly Statement<readonly []>[];
  readonly #moveLeases: Statement<readonly []>;
  #notedAt = 0;

  constructor(connection: SqliteConnection) {
    this.#last = connection.prepare('SELECT at FROM clock');
    this.#note = connection.prepare('UPDATE clock SET at = ?');
    this.#moves = [
      'UPDATE delivery SET retry_at = retry_at + ? WHERE state < 4 AND retry_at IS NOT NULL',
      'UPDATE delivery SET retry_at = retry_at + ? WHERE waits_for IS NOT NULL AND retry_at IS NOT NULL',
      'UPDATE timer SET due = due + ?',
      'UPDATE approval SET expires = expires + ? WHERE state = 0 AND expires IS NOT NULL',
      'UPDATE kv SET until = until + ? WHERE until IS NOT NULL',
    ].map((sql) => connection.prepare(sql));
    this.#moveLeases = connection.prepare('UPDATE lease SET until = until + ?');
  }

  /** Last activity of the store, epoch milliseconds. */
  get lastSeen(): number {
    return this.#last.get([])?.[0] ?? 0;
  }

  /** Returns true if the activity is due to be recorded. */
  isStale(now: number): boolean {
    return now < this.#notedAt || now >= this.#notedAt + NOTED_EVERY_MS;
  }

  note(now: number): void {
    this.#note.run([now]);
    this.#notedAt = now;
  }

  /** Adjusts times after a clock step. After a step forward waits follow the clock, but leases do not expire early. */
  onSet(byMs: number): void {
    this.#moveLeases.run([byMs]);
    if (byMs < 0) for (const move of this.#moves) move.run([byMs]);
  }
}
