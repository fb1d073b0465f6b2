// A connection to the store's file: typed statements over the driver, and the settings under which a commit is durable.
// Where `libsql` behaves otherwise than its types promise, this file compensates for it, and no other.
//
// No value reaches the driver that it cannot bind: a boolean would end the whole process (libsql 0.5).
//
// QC1  a transaction that throws has changed nothing.
// QC2  the file is this process's alone while it is open.
// QC3  nothing is written to a file that is not found any more where it was opened: it would be gone with the process.
// QC5  a text that is damaged is read as far as it can be, and what is damaged is told, once for each column.

import { isUtf8 } from 'node:buffer';
import { closeSync, fstatSync, openSync, type Stats, statSync } from 'node:fs';
import Database from 'libsql';
import type { Query } from '../list-queries.ts';

/**
 * Text columns, and the statement that reads them as bytes: libsql 0.5 ends the process for invalid UTF-8, which damaged disks may
 * contain.
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
  const given = names.map((name, index) => (texts.includes(index) ? `CAST(${name} AS BLOB)` : name));
  return { sql: `WITH found (${names.join(', ')}) AS (${sql}) SELECT ${given.join(', ')} FROM found`, texts };
}

/** Inserts the texts into the row; replaces damaged texts and reports their columns. */
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

export interface Statement<Row extends readonly SqlValue[]> {
  /** Gives how many rows it changed, and the number of the last one inserted. */
  run(values: readonly SqlValue[]): { readonly changes: number; readonly lastInsertRowid: number };
  get(values: readonly SqlValue[]): Row | undefined;
  /** Dearer per row than `get`. */
  all(values: readonly SqlValue[]): readonly Row[];
}

/** How long to wait for another process that has the file open: one that is just ending. */
const BUSY_TIMEOUT_MS = 2_000;
/**
 * Pages of 4 KB in the write-ahead log at which it is folded back: seldom, for that costs two more syncs, and not too many,
 * for all wait for it.
 */
const CHECKPOINT_PAGES = 2_000;
/** Where the disk has been full: the log must not take what room there is, for without any nobody can empty it. */
const TIGHT_CHECKPOINT_PAGES = 100;
const LOG_LIMIT_BYTES = 64 * 1024 * 1024;
const CACHE_KIB = 32 * 1024;
/** Of a file that is damaged everywhere no more is told. */
const DAMAGES_TOLD = 100;

const SETTINGS = [
  `busy_timeout = ${BUSY_TIMEOUT_MS}`,
  // Claims are taken back when a store is opened: a second process must not do that to the first one.
  'locking_mode = EXCLUSIVE',
  'journal_mode = WAL',
  'synchronous = FULL',
  `wal_autocheckpoint = ${CHECKPOINT_PAGES}`,
  `journal_size_limit = ${LOG_LIMIT_BYTES}`,
  `cache_size = -${CACHE_KIB}`,
  'temp_store = MEMORY',
  'trusted_schema = OFF',
];

/** The file cannot be used by this program; the message says what it is instead, and what to do. */
export class UnusableFileError extends Error {
  override get name(): string {
    return 'UnusableFileError';
  }
}

export class SqliteConnection {
  readonly #file: string;
  readonly #db: Database.Database;
  /** Which file it is, whatever is at its place. */
  readonly #identity: Stats;
  readonly #onDamage: (what: string) => void;
  readonly #told = new Set<string>();
  #isDurable = false;
  #isLogSmall = false;

  /**
   * Creates the file, for its owner only, when there is none. `onDamage` hears in words what in a record is not as any version
   * wrote it. Throws errors of the file system and of SQLite.
   */
  constructor(file: string, onDamage: (what: string) => void = () => undefined) {
    const descriptor = openSync(file, 'a', 0o600);
    this.#file = file;
    this.#onDamage = onDamage;
    this.#identity = fstatSync(descriptor);
    closeSync(descriptor);
    this.#db = new Database(file, { timeout: BUSY_TIMEOUT_MS });
    // Said before the first read, this also saves the file by which processes share the log, and for which a full disk
    // has no room.
    this.exec('PRAGMA locking_mode = EXCLUSIVE');
  }

  /** From here on nobody else can open the file, and what is committed is on the disk. Throws UnusableFileError. */
  makeDurable(): void {
    for (const setting of SETTINGS) this.exec(`PRAGMA ${setting}`);
    if (this.pragma('journal_mode') !== 'wal')
      throw new UnusableFileError('lies where no write-ahead log can be kept; name a file on a local disk');
    this.#isDurable = true;
  }

  /** `Row` is what the columns of the statement are, in their order. */
  prepare<Row extends readonly SqlValue[] = readonly []>(sql: string): Statement<Row> {
    const statement = this.#db.prepare(sql);
    // Raw rows are arrays; as objects they would carry a member of the driver's own, and blobs of another class.
    if (/^\s*(SELECT|PRAGMA|WITH)\b|\bRETURNING\b/.test(sql)) statement.raw(true);
    const found = /^\s*SELECT\b/.test(sql) ? textColumns(sql, statement) : undefined;
    if (found === undefined) return statement as unknown as Statement<Row>;
    const bytes = this.#db.prepare(found.sql).raw(true) as unknown as Statement<SqlValue[]>;
    const onDamage = (column: number) => this.tellDamage(`${nameOf(statement, column)} is not UTF-8`);
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

  tellDamage(what: string): void {
    if (this.#told.has(what) || this.#told.size >= DAMAGES_TOLD) return;
    this.#told.add(what);
    this.#onDamage(what);
  }

  exec(sql: string): void {
    this.#db.exec(sql);
  }

  /** Gives the first column of the first row. */
  pragma(name: string): SqlValue | undefined {
    return this.prepare<readonly SqlValue[]>(`PRAGMA ${name}`).get([])?.[0];
  }

  /**
   * Runs the action in one transaction that has the right to write from its beginning. Throws what it throws, and
   * UnusableFileError.
   */
  transaction<T>(action: () => T): T {
    this.#checkPlace();
    // One that could not be rolled back when it failed would be in the way for ever.
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
        // The error that led here says more.
      }
      if ((error as NodeJS.ErrnoException).code === 'SQLITE_FULL') this.#keepLogSmall();
      throw error;
    }
  }

  /** From here on: what is in the log goes into the file as soon as there is room again. */
  #keepLogSmall(): void {
    if (this.#isLogSmall) return;
    this.#isLogSmall = true;
    this.exec(`PRAGMA wal_autocheckpoint = ${TIGHT_CHECKPOINT_PAGES}`);
  }

  #checkPlace(): void {
    const found = statSync(this.#file, { throwIfNoEntry: false });
    const { dev, ino } = this.#identity;
    if (found?.ino === ino && found.dev === dev) return;
    throw new UnusableFileError(
      'was removed or replaced while it was open; put it back, or restart the gateway with what is there',
    );
  }

  /** Some errors, a full disk among them, have rolled the transaction back already. */
  #rollBack(): void {
    if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
  }

  /** Afterwards the file is free for others, and has everything in itself. */
  close(): void {
    if (!this.#db.open) return;
    try {
      this.#release();
    } catch {
      // A full disk, for one: the log stays, is read at the next opening, and the end of the thread frees the file.
    }
    this.#db.close();
  }

  /** The driver keeps a closed connection, with its lock, until its statements are collected as garbage. */
  #release(): void {
    if (this.#isDurable) this.exec('PRAGMA journal_mode = DELETE');
    this.exec('PRAGMA locking_mode = NORMAL');
    // The lock is given back with the next read.
    this.pragma('user_version');
  }
}

function nameOf(statement: Database.Statement, column: number): string {
  const { table, column: name } = statement.columns()[column] ?? {};
  return `a text in the column ${name} of ${table}`;
}
