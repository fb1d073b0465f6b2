// Records the ticks of schedules. A tick is a scheduled point in time, and is recorded once, even with
// several callers (rule S7 in ../store.ts). A sweep does not delete the last tick of a name, from which the
// schedule continues.

import { toStorableText } from '../record-texts.ts';
import type { SqliteConnection, SqliteStatement } from './connection.ts';

export class SqliteTicks {
  readonly #note: SqliteStatement<readonly []>;
  readonly #last: SqliteStatement<readonly [number | null]>;
  readonly #sweep: SqliteStatement<readonly []>;
  readonly #forget: SqliteStatement<readonly []>;

  constructor(connection: SqliteConnection) {
    this.#note = connection.prepare('INSERT INTO tick (name, at) VALUES (?, ?) ON CONFLICT DO NOTHING');
    this.#last = connection.prepare('SELECT max(at) FROM tick WHERE name = ?');
    this.#sweep = connection.prepare(
      `DELETE FROM tick WHERE (name, at) IN (SELECT name, at FROM tick WHERE at < ?
         AND at < (SELECT max(later.at) FROM tick AS later WHERE later.name = tick.name) LIMIT ?)`,
    );
    this.#forget = connection.prepare('DELETE FROM tick WHERE name = ? AND at > ?');
  }

  /** Returns false if the tick exists. */
  note(name: string, at: number): boolean {
    return this.#note.run([toStorableText(name), at]).changes > 0;
  }

  last(name: string): number | undefined {
    return this.#last.get([toStorableText(name)])?.[0] ?? undefined;
  }

  forget(name: string, after = Number.MIN_SAFE_INTEGER): void {
    this.#forget.run([toStorableText(name), after]);
  }

  /** Deletes up to `limit` ticks before `before`; returns their number. */
  sweep(before: number, limit: number): number {
    return this.#sweep.run([before, limit]).changes;
  }
}
