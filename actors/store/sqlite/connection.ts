// Connection to the store's file: typed statements over the driver, and the settings that make commits
// durable. This is the only file that works around errors of `libsql`: version 0.5 crashes the process if a
// value cannot be bound (a boolean) or a text is not UTF-8. A transaction that throws has changed nothing.
// The open file is locked for this process. Writes fail if the file was moved or deleted, because its content
// would be lost when the process exits. A damaged text is read as far as possible, and reported once per
// column.

import { isUtf8 } from 'node:buffer';
import { closeSync, fstatSync, openSync, type Stats, statSync } from 'node:fs';
import Database from 'libsql';
import type { Query } from '../list-queries.ts';

/**
 * A statement's text columns, and the statement that reads them as bytes. libsql 0.5 crashes the process if a
 * text is not valid UTF-8, for example on a damaged disk.
 */
export interface TextColumns {
  readonly sql: string;
  readonly texts: readonly number[];
}

/** Returns undefined for a statement without text columns. */
export function textColumns(sql: string, statement: Database.Statement): TextColumns | undefined {
  const columns = statement.columns();
  const texts = columns.flatMap(({ type }, index) => (type === 'TEXT' ? index : []));
  if (texts.length === 0) return undefined;
  const names = columns.map((_, index) => `column${index}`);
  const selected = names.map((name, index) => (texts.includes(index) ? `CAST(${name} AS BLOB)` : name));
  return {
    sql: `WITH found (${names.join(', ')}) AS (${sql}) SELECT ${selected.join(', ')} FROM found`,
    texts,
  };
}

/** Decodes the row's texts in place. Replaces invalid characters and reports their columns. */
export function readTexts(
  row: unknown[],
  texts: readonly number[],
  onDamage: (column: number) => void,
): void {
  for (const column of texts) {
    const bytes = row[column];
    if (!(bytes instanceof Uint8Array)) continue;
    if (!isUtf8(bytes)) onDamage(column);
    row[column] = (bytes as Buffer).toString();
  }
}

export type SqlValue = string | number | Uint8Array | null;

export interface SqliteStatement<Row extends readonly SqlValue[]> {
  /** Returns the number of changed rows and the id of the last inserted row. */
  run(values: readonly SqlValue[]): { readonly changes: number; readonly lastInsertRowid: number };
  get(values: readonly SqlValue[]): Row | undefined;
  /** More expensive per row than `get`. */
  all(values: readonly SqlValue[]): readonly Row[];
}

/** Maximum delay for another process that is closing the file. */
const BUSY_TIMEOUT_MS = 2_000;
/**
 * Size of the write-ahead log, in pages of 4 KB, at which it is checkpointed. A checkpoint costs two more
 * syncs and delays all calls.
 */
const CHECKPOINT_PAGES = 2_000;
/** Log size on a full disk. Emptying the log needs space, so the log must not use the remaining space. */
const TIGHT_CHECKPOINT_PAGES = 100;
const LOG_LIMIT_BYTES = 64 * 1024 * 1024;
const CACHE_KIB = 32 * 1024;
/** Maximum number of damage reports per file. */
const MAX_DAMAGE_REPORTS = 100;

const SETTINGS = [
  `busy_timeout = ${BUSY_TIMEOUT_MS}`,
  // Opening a store voids all claims, so a second process must not open it.
  'locking_mode = EXCLUSIVE',
  'journal_mode = WAL',
  'synchronous = FULL',
  `wal_autocheckpoint = ${CHECKPOINT_PAGES}`,
  `journal_size_limit = ${LOG_LIMIT_BYTES}`,
  `cache_size = -${CACHE_KIB}`,
  'temp_store = MEMORY',
  'trusted_schema = OFF',
];

/** The file is not usable by this program. The message contains the reason and the remedy. */
export class UnusableFileError extends Error {
  override get name(): string {
    return 'UnusableFileError';
  }
}

export class SqliteConnection {
  readonly #file: string;
  readonly #db: Database.Database;
  /** Device and inode of the opened file, to detect a replacement. */
  readonly #identity: Stats;
  readonly #onDamage: (what: string) => void;
  readonly #reported = new Set<string>();
  #isDurable = false;
  #isLogSmall = false;

  /**
   * Creates a missing file with owner-only permissions. `onDamage` receives a description of damaged records.
   * Throws errors of the file system and of SQLite.
   */
  constructor(file: string, onDamage: (what: string) => void = () => undefined) {
    const descriptor = openSync(file, 'a', 0o600);
    this.#file = file;
    this.#onDamage = onDamage;
    this.#identity = fstatSync(descriptor);
    closeSync(descriptor);
    this.#db = new Database(file, { timeout: BUSY_TIMEOUT_MS });
    // Before the first read: then SQLite needs no shared-memory file, for which a full disk has no space.
    this.exec('PRAGMA locking_mode = EXCLUSIVE');
  }

  /** Locks the file for this process and makes commits durable. Throws UnusableFileError. */
  makeDurable(): void {
    for (const setting of SETTINGS) this.exec(`PRAGMA ${setting}`);
    if (this.pragma('journal_mode') !== 'wal')
      throw new UnusableFileError('is on a file system without write-ahead logging; use a local disk');
    this.#isDurable = true;
  }

  /** `Row` lists the types of the columns, in order. */
  prepare<Row extends readonly SqlValue[] = readonly []>(sql: string): SqliteStatement<Row> {
    const statement = this.#db.prepare(sql);
    // Raw rows are arrays. Row objects would have an additional member of the driver, and blobs of another
    // class.
    if (/^\s*(SELECT|PRAGMA|WITH)\b|\bRETURNING\b/.test(sql)) statement.raw(true);
    const found = /^\s*SELECT\b/.test(sql) ? textColumns(sql, statement) : undefined;
    if (found === undefined) return statement as unknown as SqliteStatement<Row>;
    const bytes = this.#db.prepare(found.sql).raw(true) as unknown as SqliteStatement<SqlValue[]>;
    const onDamage = (column: number) => this.reportDamage(`${nameOf(statement, column)} is not UTF-8`);
    const read = (row: SqlValue[]) => {
      readTexts(row, found.texts, onDamage);
      return row as unknown as Row;
    };
    return {
      run: (values) => bytes.run(values),
      get: (values) => {
        const row = bytes.get(values);
        return row === undefined ? undefined : read(row);
      },
      all: (values) => bytes.all(values).map(read),
    };
  }

  /** Runs an ad hoc query. */
  list<Row extends readonly SqlValue[]>({ text, values }: Query): readonly Row[] {
    return this.prepare<Row>(text).all(values);
  }

  reportDamage(what: string): void {
    if (this.#reported.has(what) || this.#reported.size >= MAX_DAMAGE_REPORTS) return;
    this.#reported.add(what);
    this.#onDamage(what);
  }

  exec(sql: string): void {
    this.#db.exec(sql);
  }

  /** Returns the first column of the first row. */
  pragma(name: string): SqlValue | undefined {
    return this.prepare<readonly SqlValue[]>(`PRAGMA ${name}`).get([])?.[0];
  }

  /** Runs the action in one write transaction. Throws errors of the action, and UnusableFileError. */
  transaction<T>(action: () => T): T {
    this.#checkFile();
    // A failed transaction without a rollback would block all later transactions.
    this.#rollBack();
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const result = action();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      try {
        this.#rollBack();
      } catch {
        // The original error is more informative.
      }
      if ((error as NodeJS.ErrnoException).code === 'SQLITE_FULL') this.#keepLogSmall();
      throw error;
    }
  }

  /** Makes SQLite empty the log more often, from now on. */
  #keepLogSmall(): void {
    if (this.#isLogSmall) return;
    this.#isLogSmall = true;
    this.exec(`PRAGMA wal_autocheckpoint = ${TIGHT_CHECKPOINT_PAGES}`);
  }

  #checkFile(): void {
    const found = statSync(this.#file, { throwIfNoEntry: false });
    const { dev, ino } = this.#identity;
    if (found?.ino === ino && found.dev === dev) return;
    throw new UnusableFileError(
      'was removed or replaced while it was open; restore it, or restart the gateway with the current file',
    );
  }

  /** Some errors, such as a full disk, roll back automatically. */
  #rollBack(): void {
    if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
  }

  /** Merges the log into the file and releases the lock. */
  close(): void {
    if (!this.#db.open) return;
    try {
      this.#release();
    } catch {
      // For example, the disk is full. The log is recovered at the next opening, and the exit of the thread
      // releases the lock.
    }
    this.#db.close();
  }

  /**
   * Releases the lock explicitly: a closed connection keeps it until its statements are garbage-collected.
   */
  #release(): void {
    if (this.#isDurable) this.exec('PRAGMA journal_mode = DELETE');
    this.exec('PRAGMA locking_mode = NORMAL');
    // SQLite releases the lock with the next read.
    this.pragma('user_version');
  }
}

function nameOf(statement: Database.Statement, column: number): string {
  const { table, column: name } = statement.columns()[column] ?? {};
  return `text in column ${name} of ${table}`;
}
