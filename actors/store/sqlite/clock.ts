// Corrects the due times in the file after the clock was set back, so that a pause keeps its length instead of lasting until the
// clock has caught up.
//
// SK1  while something waits, the time is noted in the file at least every NOTED_EVERY_MS: when the clock is set back while
//      nothing runs, a pause grows by no more than that.

import type { SqliteConnection, Statement } from './connection.ts';

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

  /** When the store was last seen at work, epoch ms. */
  get lastSeen(): number {
    return this.#last.get([])?.[0] ?? 0;
  }

  /** Whether it is time to note the time. */
  isStale(now: number): boolean {
    return now < this.#notedAt || now >= this.#notedAt + NOTED_EVERY_MS;
  }

  note(now: number): void {
    this.#note.run([now]);
    this.#notedAt = now;
  }

  /** The clock was set, by so much. Set forward, what waits is due when the clock says so; a lease is not over by it. */
  onSet(byMs: number): void {
    this.#moveLeases.run([byMs]);
    if (byMs < 0) for (const move of this.#moves) move.run([byMs]);
  }
}
