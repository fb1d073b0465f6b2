// Records which instants of a schedule have ticked, so that each ticks once, however many processes ask (S7).
//
// TK1  the last tick of a name is removed by no sweep: a schedule goes on from there, however long nothing ran.

import { storable } from '../record-texts.ts';
import type { SqliteConnection, Statement } from './connection.ts';

export class SqliteTicks {
  readonly #note: Statement<readonly []>;
  readonly #last: Statement<readonly [number | null]>;
  readonly #sweep: Statement<readonly []>;
  readonly #forget: Statement<readonly []>;

  constructor(connection: SqliteConnection) {
    this.#note = connection.prepare('INSERT INTO tick (name, at) VALUES (?, ?) ON CONFLICT DO NOTHING');
    this.#last = connection.prepare('SELECT max(at) FROM tick WHERE name = ?');
    this.#sweep = connection.prepare(
      `DELETE FROM tick WHERE (name, at) IN (SELECT name, at FROM tick WHERE at < ?
         AND at < (SELECT max(later.at) FROM tick AS later WHERE later.name = tick.name) LIMIT ?)`,
    );
    this.#forget = connection.prepare('DELETE FROM tick WHERE name = ? AND at > ?');
  }

  /** False: it had ticked then already. */
  note(name: string, at: number): boolean {
    return this.#note.run([storable(name), at]).changes > 0;
  }

  last(name: string): number | undefined {
    return this.#last.get([storable(name)])?.[0] ?? undefined;
  }

  forget(name: string, after = Number.MIN_SAFE_INTEGER): void {
    this.#forget.run([storable(name), after]);
  }

  /** Removes ticks before that time; gives how many, at most `limit`. */
  sweep(before: number, limit: number): number {
    return this.#sweep.run([before, limit]).changes;
  }
}
