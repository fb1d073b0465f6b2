// The store in a file, read or filled as a whole: table by table, on a connection of its own, which nobody else can have meanwhile.
// Loaded by `store export` and `store import` alone.
//
// MVS1  what is read is as the last process left it: claims are not ended, so that what ran is told as what runs.
// MVS2  a file is filled in one transaction: until its end, and after kill -9 in it, there is nothing in the file but empty tables.

import { existsSync } from 'node:fs';
import type { Failure } from '../delivery.ts';
import { MoveRefusedError, StoreFileError } from '../moved/move-errors.ts';
import type { MoveSource, MoveTarget } from '../moved/moved-store.ts';
import { type Column, movedTables, type Row, type Table, type Value } from '../moved/moved-tables.ts';
import type { Numbers } from '../moved/record-file.ts';
import { failureOf } from '../moved/record-lines.ts';
import { SqliteConnection, type SqlValue, type Statement } from './connection.ts';
import { faultOf } from './faults.ts';
import { keptDamage } from './kept-log.ts';
import { migrate, refuseForeign, schemaVersion } from './schema.ts';

export interface MovedFile {
  readonly file: string;
  /** Hears in words what is damaged in it. */
  readonly onDamage: (what: string) => void;
  /** Epoch ms. */
  readonly now?: () => number;
}

const CACHE = 'PRAGMA cache_size = -32768';

/** Rejects with MoveRefusedError where there is no file, and with StoreUnavailableError where it is not to be used. */
export async function openSqliteSource({ file, onDamage, now = Date.now }: MovedFile): Promise<MoveSource> {
  if (!existsSync(file)) throw new MoveRefusedError(`there is no store ${file}: nothing can be exported`);
  const damage = keptDamage(file);
  if (damage !== undefined) onDamage(damage);
  return opened(file, onDamage, (connection) => new SqliteSource(connection, file, now()));
}

/** Makes the file where there is none. Rejects with MoveRefusedError where it has anything in it. */
export async function openSqliteTarget({ file, onDamage, now = Date.now }: MovedFile): Promise<MoveTarget> {
  return opened(file, onDamage, (connection) => new SqliteTarget(connection, file, now()));
}

function opened<T>(
  file: string,
  onDamage: (what: string) => void,
  make: (connection: SqliteConnection) => T,
): T {
  let connection: SqliteConnection | undefined;
  try {
    connection = new SqliteConnection(file, onDamage);
    refuseForeign(connection);
    connection.exec(CACHE);
    return make(connection);
  } catch (error) {
    connection?.close();
    throw faultOf(error, file)?.error ?? error;
  }
}

class SqliteSource implements MoveSource {
  readonly engine = 'sqlite';
  readonly now: number;
  readonly numbers: Numbers;
  readonly #connection: SqliteConnection;
  readonly #file: string;

  constructor(connection: SqliteConnection, file: string, now: number) {
    this.#connection = connection;
    this.#file = file;
    // As a start would.
    if (Number(connection.pragma('user_version')) < schemaVersion) migrate(connection);
    connection.exec('BEGIN IMMEDIATE');
    // Where the clock was set back meanwhile, what remains is counted from when the store was last at work.
    this.now = Math.max(now, numberIn(connection, 'SELECT at FROM clock'));
    this.numbers = {
      counter: numberIn(connection, 'SELECT value FROM counter'),
      lastSeq: lastSeq(connection),
    };
  }

  async count(table: Table): Promise<number> {
    return this.#guarded(() => numberIn(this.#connection, `SELECT count(*) FROM ${table.name}`));
  }

  async *rows(table: Table): AsyncGenerator<Row> {
    const names = table.columns.map(({ name }) => name).join(', ');
    const keys = table.key.join(', ');
    const select = (where: string) =>
      this.#connection.prepare<readonly SqlValue[]>(
        `SELECT ${names} FROM ${table.name} ${where} ORDER BY ${keys} LIMIT 1`,
      );
    // One at a time: a row may be large.
    const [first, after] = this.#guarded(() => [
      select(''),
      select(`WHERE (${keys}) > (${table.key.map(() => '?').join(', ')})`),
    ]) as [Statement<readonly SqlValue[]>, Statement<readonly SqlValue[]>];
    for (let found = this.#guarded(() => first.get([])); found !== undefined; ) {
      const values = found;
      const row = Object.fromEntries(
        table.columns.map((column, at) => [column.name, readValue(column, values[at] ?? null)]),
      );
      yield row;
      const last = table.key.map((name) => row[name] as SqlValue);
      found = this.#guarded(() => after.get(last));
    }
  }

  async close(): Promise<void> {
    try {
      this.#connection.exec('ROLLBACK');
      // In a file that was left with a log the lock is given back with the log alone.
      this.#connection.exec('PRAGMA journal_mode = DELETE');
    } catch {
      // Where there is no room for that the log stays, and is read at the next start.
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

class SqliteTarget implements MoveTarget {
  readonly engine = 'sqlite';
  readonly now: number;
  readonly #connection: SqliteConnection;
  readonly #file: string;
  readonly #inserts = new Map<Table, Statement<readonly []>>();
  #isOpen = true;

  constructor(connection: SqliteConnection, file: string, now: number) {
    this.#connection = connection;
    this.#file = file;
    this.now = now;
    // All of it is one transaction: what is new need not go through a log, which would be as large as the store.
    connection.exec('PRAGMA journal_mode = DELETE');
    connection.exec('PRAGMA synchronous = FULL');
    migrate(connection);
    connection.exec('BEGIN IMMEDIATE');
    try {
      refuseFilled(connection, file);
    } catch (error) {
      // The file is free for others only then.
      connection.exec('ROLLBACK');
      throw error;
    }
  }

  async write(table: Table, rows: readonly Row[]): Promise<void> {
    this.#guarded(() => {
      const insert = this.#inserts.get(table) ?? this.#insertInto(table);
      for (const row of rows)
        insert.run(table.columns.map((column) => writtenValue(column, row[column.name])));
    });
  }

  async commit({ counter, lastSeq: last }: Numbers): Promise<void> {
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
      // A full disk, for one, has it rolled back already.
      if (this.#isOpen) this.#connection.exec('ROLLBACK');
    } catch {
      // Whoever opens the file next does it.
    }
    this.#connection.close();
  }

  #insertInto(table: Table): Statement<readonly []> {
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
      if (code?.startsWith('SQLITE_CONSTRAINT') === true)
        throw new StoreFileError(`the store takes nothing twice, and something is (${code})`);
      throw faultOf(error, this.#file)?.error ?? error;
    }
  }
}

/** Throws MoveRefusedError. */
function refuseFilled(connection: SqliteConnection, file: string): void {
  const there = [...movedTables.map(({ name }) => name), 'lease'].flatMap((name) => {
    const count = numberIn(connection, `SELECT count(*) FROM ${name}`);
    return count === 0 ? [] : `${count} in ${name}`;
  });
  if (there.length > 0)
    throw new MoveRefusedError(
      `the store ${file} is not empty (${there.join(', ')}), and nothing is mixed; move it away to import into a new one`,
    );
}

function numberIn(connection: SqliteConnection, sql: string): number {
  return Number(connection.prepare<readonly SqlValue[]>(sql).get([])?.[0] ?? 0);
}

const lastSeq = (connection: SqliteConnection) =>
  numberIn(connection, "SELECT seq FROM sqlite_sequence WHERE name = 'delivery'");

function readValue({ type }: Column, value: SqlValue): Value {
  if (type === 'flag') return value === 1;
  if (type === 'failures' && typeof value === 'string') return failuresIn(value);
  return value;
}

/** Those that are damaged are not worth the record in which they stand. */
function failuresIn(text: string): readonly Failure[] | null {
  try {
    return (JSON.parse(text) as Failure[]).map(failureOf);
  } catch {
    return null;
  }
}

function writtenValue({ type }: Column, value: Value | undefined): SqlValue {
  if (type === 'flag') return value === true ? 1 : null;
  if (type === 'failures' && value !== null) return JSON.stringify(value);
  return (value ?? null) as SqlValue;
}
