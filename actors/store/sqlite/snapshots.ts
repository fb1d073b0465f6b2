// Snapshots: what the last turn of a key left for the next one. A conversation may never go on, so a snapshot is removed when it
// has not been used for long and no event of its key waits.

import { firstSettled } from '../delivery-states.ts';
import { storable } from '../record-texts.ts';
import type { SqliteConnection, Statement } from './connection.ts';

export class SqliteSnapshots {
  readonly #get: Statement<readonly [string]>;
  readonly #set: Statement<readonly []>;
  readonly #drop: Statement<readonly []>;
  readonly #forget: Statement<readonly []>;

  constructor(connection: SqliteConnection) {
    this.#get = connection.prepare('SELECT value FROM snapshot WHERE key = ?');
    this.#set = connection.prepare(
      `INSERT INTO snapshot (key, value, at) VALUES (?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value, at = excluded.at`,
    );
    this.#drop = connection.prepare('DELETE FROM snapshot WHERE key = ?');
    this.#forget = connection.prepare(
      `DELETE FROM snapshot WHERE key IN (SELECT key FROM snapshot AS old WHERE at < ?
         AND NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.key = old.key AND state < ${firstSettled})
         AND NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.key = old.key AND waits_for IS NOT NULL)
         AND NOT EXISTS (SELECT 1 FROM timer WHERE timer.owner = old.key) ORDER BY at LIMIT ?)`,
    );
  }

  get(key: string): string | undefined {
    return this.#get.get([key])?.[0];
  }

  /** Replaces the key's snapshot; null removes it. */
  keep(key: string, snapshot: string | null, now: number): void {
    if (snapshot === null) this.#drop.run([storable(key)]);
    else this.#set.run([storable(key), storable(snapshot), now]);
  }

  /** Removes what was left before that time, at most so much of it; gives how many. */
  sweep(before: number, limit: number): number {
    return this.#forget.run([before, limit]).changes;
  }
}
