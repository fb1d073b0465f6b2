// Access keys in SQLite. The table is created for the first key, outside of the schema versions: the
// previous version of the gateway ignores it, and a store without keys stays as it is. Statements are
// prepared per call, because the table may be missing, and calls are rare.

import type {
  AccessKey,
  AddedKey,
  KeyUse,
  NewAccessKey,
  ReplacedKey,
} from '../../identity/access-keys/access-key.ts';
import { MAX_ACCESS_KEYS } from '../../identity/access-keys/access-key.ts';
import {
  type AccessKeyRow,
  accessKeyOf,
  countKeys,
  deleteEndedKey,
  endOfKey,
  expireKey,
  expiryOfReplaced,
  insertKey,
  type KeyEnd,
  keysAfter,
  liveKeyWithName,
  newKeyValues,
  noteUse,
  revokeKey,
} from '../access-key-row.ts';
import type { SqliteConnection, SqlValue } from './connection.ts';
import type { SqliteCounter } from './values.ts';

const TABLE = `
  CREATE TABLE IF NOT EXISTS access_key (
    id TEXT PRIMARY KEY,
    tenant TEXT,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    digest TEXT NOT NULL,
    version INTEGER NOT NULL,
    created INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires INTEGER,
    revoked INTEGER,
    used INTEGER
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS access_key_version ON access_key (version);
  CREATE INDEX IF NOT EXISTS access_key_name ON access_key (name);
`;

export class SqliteAccessKeys {
  readonly #connection: SqliteConnection;
  readonly #counter: SqliteCounter;

  constructor(connection: SqliteConnection, counter: SqliteCounter) {
    this.#connection = connection;
    this.#counter = counter;
  }

  after(version: number): readonly AccessKey[] {
    if (!this.#hasTable) return [];
    return this.#connection.prepare<AccessKeyRow>(keysAfter).all([version]).map(accessKeyOf);
  }

  add(key: NewAccessKey, replaced: ReplacedKey | undefined, now: number): AddedKey {
    this.#connection.exec(TABLE);
    const [count = 0] = this.#get<readonly [number]>(countKeys, []) ?? [];
    if (count >= MAX_ACCESS_KEYS && this.#run(deleteEndedKey, [now]) === 0) return 'full';
    if (replaced === undefined) {
      if (this.#get(liveKeyWithName, [key.name, now]) !== undefined) return 'name_taken';
    } else {
      const expires = expiryOfReplaced(this.#get<KeyEnd>(endOfKey, [replaced.id]), replaced, now);
      if (expires === undefined) return 'ended';
      this.#run(expireKey, [replaced.id, expires, this.#counter.next()]);
    }
    this.#run(insertKey, newKeyValues(key, this.#counter.next(), now));
    return 'added';
  }

  /** Returns false if unknown. */
  revoke(id: string, now: number): boolean {
    if (!this.#hasTable || this.#get(endOfKey, [id]) === undefined) return false;
    this.#run(revokeKey, [id, now, this.#counter.next()]);
    return true;
  }

  noteUses(uses: readonly KeyUse[]): void {
    if (!this.#hasTable) return;
    for (const [id, at] of uses) this.#run(noteUse, [id, at]);
  }

  get #hasTable(): boolean {
    return (
      this.#get("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'access_key'", []) !== undefined
    );
  }

  #get<Row extends readonly SqlValue[]>(sql: string, values: readonly SqlValue[]): Row | undefined {
    return this.#connection.prepare<Row>(sql).get(values);
  }

  #run(sql: string, values: readonly SqlValue[]): number {
    return this.#connection.prepare(sql).run(values).changes;
  }
}
