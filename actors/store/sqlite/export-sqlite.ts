// Exports and imports a SQLite store, table by table, on an exclusive connection. Loaded only by
// `store export` and `store import`. Unlike a start of the gateway, an export keeps the claims, so a running
// event is exported as running. An import is one transaction; before its commit, even after kill -9, the file
// contains only empty tables.

import { existsSync } from 'node:fs';
import type { Failure } from '../delivery.ts';
import { StoreFileError, TransferRefusedError } from '../export/errors.ts';
import type { StoreCounters } from '../export/file-format.ts';
import { failureOf } from '../export/row-format.ts';
import {
  type ExportColumn,
  type ExportRow,
  type ExportTable,
  exportedTables,
  type Value,
} from '../export/tables.ts';
import type { ExportSource, ImportTarget } from '../export/transfer.ts';
import { SqliteConnection, type SqliteStatement, type SqlValue } from './connection.ts';
import { copyDamagedLog } from './damaged-log-copy.ts';
import { faultOf } from './faults.ts';
import { type Migration, migrate, rejectForeign } from './schema.ts';

export interface SqliteTransferOptions {
  readonly file: string;
  /** Receives a description of damaged records. */
  readonly onDamage: (what: string) => void;
  readonly onMigrated?: ((migration: Migration) => void) | undefined;
  /** Epoch milliseconds. */
  readonly now?: () => number;
  /** True for a copy of a store in use: the end of its log may be incomplete (live-copy.ts). */
  readonly isLiveCopy?: boolean;
}

const CACHE = 'PRAGMA cache_size = -32768';

/**
 * Rejects with TransferRefusedError if the file is missing, with StoreUnavailableError if it is not usable.
 */
export async function openSqliteSource(options: SqliteTransferOptions): Promise<ExportSource> {
  const { file, onDamage, isLiveCopy } = options;
  if (!existsSync(file)) throw new TransferRefusedError(`no store at ${file}: nothing to export`);
  const damage = isLiveCopy === true ? undefined : copyDamagedLog(file);
  if (damage !== undefined) onDamage(damage);
  return openConnection(file, onDamage, (connection) => new SqliteSource(connection, options));
}

/** Creates a missing file. Rejects with TransferRefusedError if the store is not empty. */
export async function openSqliteTarget(options: SqliteTransferOptions): Promise<ImportTarget> {
  const { file, onDamage } = options;
  return openConnection(file, onDamage, (connection) => new SqliteTarget(connection, options));
}

function openConnection<T>(
  file: string,
  onDamage: (what: string) => void,
  make: (connection: SqliteConnection) => T,
): T {
  let connection: SqliteConnection | undefined;
  try {
    connection = new SqliteConnection(file, onDamage);
    rejectForeign(connection);
    connection.exec(CACHE);
    return make(connection);
  } catch (error) {
    connection?.close();
    throw faultOf(error, file)?.error ?? error;
  }
}

function migrateReporting(
  connection: SqliteConnection,
  { file, isLiveCopy, onMigrated }: SqliteTransferOptions,
): void {
  const migration = migrate(connection, file, isLiveCopy);
  if (migration !== undefined) onMigrated?.(migration);
}

class SqliteSource implements ExportSource {
  readonly engine = 'sqlite';
  readonly now: number;
  readonly counters: StoreCounters;
  readonly #connection: SqliteConnection;
  readonly #file: string;

  constructor(connection: SqliteConnection, options: SqliteTransferOptions) {
    this.#connection = connection;
    this.#file = options.file;
    // A start of the gateway would migrate the file too.
    migrateReporting(connection, options);
    connection.exec('BEGIN IMMEDIATE');
    // If the clock moved backwards, remaining durations are relative to the last activity of the store.
    this.now = Math.max((options.now ?? Date.now)(), numberIn(connection, 'SELECT at FROM clock'));
    this.counters = {
      counter: numberIn(connection, 'SELECT value FROM counter'),
      lastSeq: lastSeq(connection),
    };
  }

  async count(table: ExportTable): Promise<number> {
    return this.#guarded(() => numberIn(this.#connection, `SELECT count(*) FROM ${table.name}`));
  }

  async *rows(table: ExportTable): AsyncGenerator<ExportRow> {
    const names = table.columns.map(({ name }) => name).join(', ');
    const keys = table.key.join(', ');
    const select = (where: string) =>
      this.#connection.prepare<readonly SqlValue[]>(
        `SELECT ${names} FROM ${table.name} ${where} ORDER BY ${keys} LIMIT 1`,
      );
    // One row per query, because a row may be large.
    const [first, after] = this.#guarded(() => [
      select(''),
      select(`WHERE (${keys}) > (${table.key.map(() => '?').join(', ')})`),
    ]) as [SqliteStatement<readonly SqlValue[]>, SqliteStatement<readonly SqlValue[]>];
    for (let found = this.#guarded(() => first.get([])); found !== undefined; ) {
      const values = found;
      const row = Object.fromEntries(
        table.columns.map((column, at) => [column.name, fromSqlValue(column, values[at] ?? null)]),
      );
      yield row;
      const last = table.key.map((name) => row[name] as SqlValue);
      found = this.#guarded(() => after.get(last));
    }
  }

  async close(): Promise<void> {
    try {
      this.#connection.exec('ROLLBACK');
      // Removes the write-ahead log: while a log exists, SQLite keeps the exclusive lock.
      this.#connection.exec('PRAGMA journal_mode = DELETE');
    } catch {
      // Without disk space the log remains, and is recovered at the next start.
    }
    this.#connection.close();
  }

  #guarded<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      throw faultOf(error, this.#file)?.error ?? error;
    }
  }
}

class SqliteTarget implements ImportTarget {
  readonly engine = 'sqlite';
  readonly now: number;
  readonly #connection: SqliteConnection;
  readonly #file: string;
  readonly #inserts = new Map<ExportTable, SqliteStatement<readonly []>>();
  #isOpen = true;

  constructor(connection: SqliteConnection, options: SqliteTransferOptions) {
    const { file, now = Date.now } = options;
    this.#connection = connection;
    this.#file = file;
    this.now = now();
    // The import is one transaction; with a write-ahead log, the log would be as large as the store.
    connection.exec('PRAGMA journal_mode = DELETE');
    connection.exec('PRAGMA synchronous = FULL');
    migrateReporting(connection, options);
    connection.exec('BEGIN IMMEDIATE');
    try {
      rejectNonEmpty(connection, file);
    } catch (error) {
      // Releases the lock on the file.
      connection.exec('ROLLBACK');
      throw error;
    }
  }

  async write(table: ExportTable, rows: readonly ExportRow[]): Promise<void> {
    this.#guarded(() => {
      const insert = this.#inserts.get(table) ?? this.#insertInto(table);
      for (const row of rows) insert.run(table.columns.map((column) => toSqlValue(column, row[column.name])));
    });
  }

  async commit({ counter, lastSeq: last }: StoreCounters): Promise<void> {
    this.#guarded(() => {
      const connection = this.#connection;
      const run = (sql: string, values: readonly SqlValue[]) => connection.prepare(sql).run(values);
      run('UPDATE counter SET value = max(value, ?)', [counter]);
      run('UPDATE clock SET at = ?', [this.now]);
      const seq = Math.max(last, lastSeq(connection));
      run("DELETE FROM sqlite_sequence WHERE name = 'delivery'", []);
      run("INSERT INTO sqlite_sequence (name, seq) VALUES ('delivery', ?)", [seq]);
      connection.exec('COMMIT');
      this.#isOpen = false;
    });
  }

  async close(): Promise<void> {
    try {
      // Some errors, such as a full disk, roll back automatically.
      if (this.#isOpen) this.#connection.exec('ROLLBACK');
    } catch {
      // The next opening of the file rolls back.
    }
    this.#connection.close();
  }

  #insertInto(table: ExportTable): SqliteStatement<readonly []> {
    const names = table.columns.map(({ name }) => name);
    const insert = this.#connection.prepare(
      `INSERT INTO ${table.name} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
    );
    this.#inserts.set(table, insert);
    return insert;
  }

  #guarded<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code?.startsWith('SQLITE_CONSTRAINT') === true) throw new StoreFileError(`duplicate row (${code})`);
      throw faultOf(error, this.#file)?.error ?? error;
    }
  }
}

/** Throws TransferRefusedError. */
function rejectNonEmpty(connection: SqliteConnection, file: string): void {
  const contents = [...exportedTables.map(({ name }) => name), 'lease'].flatMap((name) => {
    const count = numberIn(connection, `SELECT count(*) FROM ${name}`);
    return count === 0 ? [] : `${count} in ${name}`;
  });
  if (contents.length > 0)
    throw new TransferRefusedError(
      `the store ${file} is not empty (${contents.join(', ')}); move it away to import into a new store`,
    );
}

function numberIn(connection: SqliteConnection, sql: string): number {
  return Number(connection.prepare<readonly SqlValue[]>(sql).get([])?.[0] ?? 0);
}

const lastSeq = (connection: SqliteConnection) =>
  numberIn(connection, "SELECT seq FROM sqlite_sequence WHERE name = 'delivery'");

function fromSqlValue({ type }: ExportColumn, value: SqlValue): Value {
  if (type === 'flag') return value === 1;
  if (type === 'failures' && typeof value === 'string') return failuresIn(value);
  return value;
}

/** Drops damaged failures, to export the record. */
function failuresIn(text: string): readonly Failure[] | null {
  try {
    return (JSON.parse(text) as Failure[]).map(failureOf);
  } catch {
    return null;
  }
}

function toSqlValue({ type }: ExportColumn, value: Value | undefined): SqlValue {
  if (type === 'flag') return value === true ? 1 : null;
  if (type === 'failures' && value !== null) return JSON.stringify(value);
  return (value ?? null) as SqlValue;
}
