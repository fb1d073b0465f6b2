// Snapshots: the state that an event saves for the next event of the key. A snapshot is deleted if it has not
// been saved for a long period and its key has no unfinished event.

import { firstNonBlocking } from '../delivery-states.ts';
import { toStorableText } from '../record-texts.ts';
import type { SqliteConnection, SqliteStatement } from './connection.ts';

export class SqliteSnapshots {
  readonly #get: SqliteStatement<readonly [string]>;
  readonly #set: SqliteStatement<readonly []>;
  readonly #drop: SqliteStatement<readonly []>;
  readonly #forget: SqliteStatement<readonly []>;

  constructor(connection: SqliteConnection) {
    this.#get = connection.prepare('SELECT value FROM snapshot WHERE key = ?');
    this.#set = connection.prepare(
      `INSERT INTO snapshot (key, value, at) VALUES (?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value, at = excluded.at`,
    );
    this.#drop = connection.prepare('DELETE FROM snapshot WHERE key = ?');
    this.#forget = connection.prepare(
      `DELETE FROM snapshot WHERE key IN (SELECT key FROM snapshot AS old WHERE at < ?
         AND NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.key = old.key AND state < ${firstNonBlocking})
         AND NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.key = old.key AND waits_for IS NOT NULL)
         AND NOT EXISTS (SELECT 1 FROM timer WHERE timer.owner = old.key) ORDER BY at LIMIT ?)`,
    );
  }

  get(key: string): string | undefined {
    return this.#get.get([key])?.[0];
  }

  /** Replaces the key's snapshot; null removes it. */
  set(key: string, snapshot: string | null, now: number): void {
    if (snapshot === null) this.#drop.run([toStorableText(key)]);
    else this.#set.run([toStorableText(key), toStorableText(snapshot), now]);
  }

  /** Deletes up to `limit` snapshots saved before `before`; returns their number. */
  sweep(before: number, limit: number): number {
    return this.#forget.run([before, limit]).changes;
  }
}
