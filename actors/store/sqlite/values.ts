// Values by space and key, with or without a time to live. A version is never used twice, not even after a value was
// deleted, so that `ifVersion` cannot take a later value for the one that was read.

import { storable } from '../record-texts.ts';
import type { PutOptions, Versioned } from '../store.ts';
import type { SqliteConnection, Statement } from './connection.ts';

/** Persistent counter for fences, epochs and versions. One row serves all keys, so removed keys never reuse numbers. */
export class SqliteCounter {
  readonly #draw: Statement<readonly [number]>;

  constructor(connection: SqliteConnection) {
    this.#draw = connection.prepare('UPDATE counter SET value = value + ? RETURNING value');
  }

  next(): number {
    return this.draw(1);
  }

  /** Reserves consecutive numbers and returns the first. */
  draw(count: number): number {
    const row = this.#draw.get([count]);
    if (row === undefined) throw new Error('the counter of the store is gone');
    return row[0] - count + 1;
  }
}

export class SqliteValues {
  readonly #counter: SqliteCounter;
  readonly #get: Statement<readonly [string, number]>;
  readonly #put: Statement<readonly []>;
  readonly #delete: Statement<readonly []>;
  readonly #keys: Statement<readonly [string]>;
  readonly #sweep: Statement<readonly []>;

  constructor(connection: SqliteConnection, counter: SqliteCounter) {
    this.#counter = counter;
    this.#get = connection.prepare(
      'SELECT value, version FROM kv WHERE space = ? AND key = ? AND (until IS NULL OR until > ?)',
    );
    this.#put = connection.prepare(
      `INSERT INTO kv (space, key, value, version, until) VALUES (?, ?, ?, ?, ?) ON CONFLICT (space, key) DO UPDATE
       SET value = excluded.value, version = excluded.version, until = excluded.until`,
    );
    this.#delete = connection.prepare('DELETE FROM kv WHERE space = ? AND key = ?');
    this.#keys = connection.prepare(
      'SELECT key FROM kv WHERE space = ? AND (until IS NULL OR until > ?) ORDER BY key',
    );
    this.#sweep = connection.prepare(
      'DELETE FROM kv WHERE rowid IN (SELECT rowid FROM kv WHERE until <= ? LIMIT ?)',
    );
  }

  /** False: a condition did not hold, and nothing was changed. */
  put(space: string, key: string, value: string, options: PutOptions, now: number): boolean {
    const { ttlMs, ifAbsent, ifVersion } = options;
    if (ifAbsent === true || ifVersion !== undefined) {
      const present = this.get(space, key, now);
      if (ifAbsent === true && present !== undefined) return false;
      if (ifVersion !== undefined && present?.version !== ifVersion) return false;
    }
    const until = ttlMs === undefined ? null : now + ttlMs;
    this.#put.run([storable(space), storable(key), storable(value), this.#counter.next(), until]);
    return true;
  }

  get(space: string, key: string, now: number): Versioned | undefined {
    const row = this.#get.get([storable(space), storable(key), now]);
    return row === undefined ? undefined : { value: row[0], version: row[1] };
  }

  delete(space: string, key: string): void {
    this.#delete.run([storable(space), storable(key)]);
  }

  keys(space: string, now: number): readonly string[] {
    return this.#keys.all([storable(space), now]).map(([key]) => key);
  }

  /** Removes values whose time is over; gives how many, at most `limit`. */
  sweep(now: number, limit: number): number {
    return this.#sweep.run([now, limit]).changes;
  }
}
