// Values by space and key, with an optional time to live. Versions are never reused, even for deleted values:
// `ifVersion` cannot match a later value.

import { toStorableText } from '../record-texts.ts';
import type { PutOptions, VersionedValue } from '../store.ts';
import type { SqliteConnection, SqliteStatement } from './connection.ts';

/**
 * Persistent counter for fences, epochs and versions. One row serves all keys, so removed keys never reuse
 * numbers.
 */
export class SqliteCounter {
  readonly #draw: SqliteStatement<readonly [number]>;

  constructor(connection: SqliteConnection) {
    this.#draw = connection.prepare('UPDATE counter SET value = value + ? RETURNING value');
  }

  next(): number {
    return this.draw(1);
  }

  /** Reserves consecutive numbers and returns the first. */
  draw(count: number): number {
    const row = this.#draw.get([count]);
    if (row === undefined) throw new Error('the counter row is missing');
    return row[0] - count + 1;
  }
}

export class SqliteValues {
  readonly #counter: SqliteCounter;
  readonly #get: SqliteStatement<readonly [string, number]>;
  readonly #put: SqliteStatement<readonly []>;
  readonly #delete: SqliteStatement<readonly []>;
  readonly #keys: SqliteStatement<readonly [string]>;
  readonly #sweep: SqliteStatement<readonly []>;

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

  /** Returns false and changes nothing if a condition fails. */
  put(space: string, key: string, value: string, options: PutOptions, now: number): boolean {
    const { ttlMs, ifAbsent, ifVersion } = options;
    if (ifAbsent === true || ifVersion !== undefined) {
      const present = this.get(space, key, now);
      if (ifAbsent === true && present !== undefined) return false;
      if (ifVersion !== undefined && present?.version !== ifVersion) return false;
    }
    const until = ttlMs === undefined ? null : now + ttlMs;
    this.#put.run([
      toStorableText(space),
      toStorableText(key),
      toStorableText(value),
      this.#counter.next(),
      until,
    ]);
    return true;
  }

  get(space: string, key: string, now: number): VersionedValue | undefined {
    const row = this.#get.get([toStorableText(space), toStorableText(key), now]);
    return row === undefined ? undefined : { value: row[0], version: row[1] };
  }

  delete(space: string, key: string): void {
    this.#delete.run([toStorableText(space), toStorableText(key)]);
  }

  keys(space: string, now: number): readonly string[] {
    return this.#keys.all([toStorableText(space), now]).map(([key]) => key);
  }

  /** Deletes up to `limit` expired values; returns their number. */
  sweep(now: number, limit: number): number {
    return this.#sweep.run([now, limit]).changes;
  }
}
