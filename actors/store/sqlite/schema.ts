// Tables and migrations in SQLite. Small columns that change often are in other tables than large columns
// that never change, so that a state change does not rewrite a body. A migration runs in a transaction. A
// released migration is never edited. A file of another program or of a newer version is never modified.

import { type SqliteConnection, UnusableFileError } from './connection.ts';
import { copyBeforeMigration } from './migration-copy.ts';

/** "aGwS" in the file header, which `file` and similar tools show. */
const APPLICATION_ID = 0x61_47_77_53;

const migrations: readonly string[] = [
  `
  -- Record of each event, kept for the retention time to detect repeated ids.
  CREATE TABLE delivery (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    key TEXT NOT NULL,
    trace TEXT NOT NULL,
    state INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    at INTEGER NOT NULL,
    started INTEGER,
    ended INTEGER,
    retry_at INTEGER,
    held_by TEXT,
    trigger TEXT,
    note TEXT,
    answer TEXT,
    failures TEXT
  );
  CREATE INDEX delivery_unfinished ON delivery (key, seq, state) WHERE state < 4;
  CREATE INDEX delivery_dead ON delivery (seq) WHERE state = 4;
  CREATE INDEX delivery_held ON delivery (held_by) WHERE held_by IS NOT NULL;

  CREATE TABLE body (seq INTEGER PRIMARY KEY, meta TEXT NOT NULL, body BLOB NOT NULL);

  -- One row per key with unfinished events. ready_at: time of the next claim, or expiry of the current claim; null while
  -- the first event is held. running: the claimed event.
  CREATE TABLE mailbox (
    key TEXT PRIMARY KEY,
    ready_at INTEGER,
    fence INTEGER,
    running INTEGER,
    lease_ms INTEGER
  ) WITHOUT ROWID;
  CREATE INDEX mailbox_ready ON mailbox (ready_at) WHERE ready_at IS NOT NULL;
  -- By the first segment of the key: a claim for a kind does not scan the backlog of the rest.
  CREATE INDEX mailbox_kind ON mailbox (substr(key, 1, instr(key, '/')), ready_at) WHERE ready_at IS NOT NULL;

  CREATE TABLE snapshot (key TEXT PRIMARY KEY, value TEXT NOT NULL, at INTEGER NOT NULL);
  CREATE INDEX snapshot_at ON snapshot (at);

  CREATE TABLE timer (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    due INTEGER NOT NULL,
    id TEXT NOT NULL,
    key TEXT NOT NULL,
    meta TEXT NOT NULL,
    trace TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (owner, name)
  );
  CREATE INDEX timer_due ON timer (due);

  CREATE TABLE lease (
    name TEXT PRIMARY KEY,
    node TEXT NOT NULL,
    address TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    until INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX lease_until ON lease (until);

  CREATE TABLE tick (name TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (name, at)) WITHOUT ROWID;
  CREATE INDEX tick_at ON tick (at);

  CREATE TABLE kv (
    space TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    version INTEGER NOT NULL,
    until INTEGER,
    PRIMARY KEY (space, key)
  );
  CREATE INDEX kv_until ON kv (until) WHERE until IS NOT NULL;

  -- One row, the counter for fences, epochs and versions: they increase even if the previous row was deleted.
  CREATE TABLE counter (value INTEGER NOT NULL);
  INSERT INTO counter VALUES (0);
  `,
  // Claims do not survive the process, so mailboxes have no table.
  'DROP TABLE mailbox;',
  // Number of crashes of the event.
  `
  ALTER TABLE delivery ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX delivery_suspect ON delivery (seq, crashes) WHERE crashes > 0 AND state < 4;
  `,
  // Last recorded clock, which reveals a backward step at the next start.
  'CREATE TABLE clock (at INTEGER NOT NULL); INSERT INTO clock VALUES (0);',
  // The platform's id of a sent message, and the number of deferrals.
  `
  ALTER TABLE delivery ADD COLUMN receipt TEXT;
  ALTER TABLE delivery ADD COLUMN deferrals INTEGER NOT NULL DEFAULT 0;
  `,
  // Columns that few events use. waits_for and holds_key are set for a parked event; retry_at is then the due
  // date of its timer. Other events never change these columns.
  `
  ALTER TABLE delivery ADD COLUMN kind TEXT;
  ALTER TABLE delivery ADD COLUMN wakes TEXT;
  ALTER TABLE delivery ADD COLUMN waits_for TEXT;
  ALTER TABLE delivery ADD COLUMN holds_key INTEGER;
  ALTER TABLE delivery ADD COLUMN has_progress INTEGER;
  CREATE INDEX delivery_waiting ON delivery (key, waits_for, seq) WHERE waits_for IS NOT NULL;
  CREATE INDEX delivery_waker ON delivery (key, wakes, seq) WHERE wakes IS NOT NULL;

  -- Saved state and last waker. May be large, and separate because a delivery changes often.
  CREATE TABLE progress (
    seq INTEGER PRIMARY KEY,
    state TEXT,
    woken_id TEXT,
    woken_kind TEXT,
    woken_meta TEXT,
    woken_body BLOB
  );

  ALTER TABLE timer ADD COLUMN kind TEXT;
  ALTER TABLE timer ADD COLUMN wakes TEXT;
  `,
  // For delivery reports of platforms.
  'CREATE INDEX delivery_receipt ON delivery (receipt) WHERE receipt IS NOT NULL;',
  // Journals and approvals, which few events have.
  `
  CREATE TABLE run (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, figures TEXT NOT NULL);
  CREATE INDEX run_name ON run (name, seq);
  -- total: bytes of the journal up to this row. Precedes the text, which may continue in overflow pages.
  CREATE TABLE step (seq INTEGER NOT NULL, n INTEGER NOT NULL, at INTEGER NOT NULL, total INTEGER NOT NULL,
    text TEXT NOT NULL, PRIMARY KEY (seq, n));

  CREATE TABLE approval (
    id TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    state INTEGER NOT NULL,
    asked INTEGER NOT NULL,
    expires INTEGER,
    decided INTEGER,
    body TEXT NOT NULL,
    decision TEXT,
    on_cancel TEXT
  );
  CREATE INDEX approval_asked ON approval (asked, id);
  CREATE INDEX approval_seq ON approval (seq);
  CREATE INDEX approval_state ON approval (state, asked, id);
  CREATE INDEX approval_pending_seq ON approval (seq) WHERE state = 0;
  `,
  // target: kind and name of the agent, fleet or flow of a parked event.
  `
  ALTER TABLE delivery ADD COLUMN target TEXT;
  UPDATE delivery SET target = (SELECT kind || ' ' || name FROM run WHERE run.seq = delivery.seq)
    WHERE waits_for IS NOT NULL;
  CREATE INDEX delivery_parked ON delivery (key, trigger, target) WHERE waits_for IS NOT NULL;
  `,
];

export const schemaVersion = migrations.length;

/** Reads only. Throws UnusableFileError for a foreign file or a newer version, and errors of SQLite. */
export function rejectForeign(connection: SqliteConnection): void {
  const version = Number(connection.pragma('user_version'));
  const application = Number(connection.pragma('application_id'));
  const tables =
    connection.prepare<readonly [number]>('SELECT count(*) FROM sqlite_master').get([])?.[0] ?? 0;
  if (tables > 0 && application !== APPLICATION_ID)
    throw new UnusableFileError('belongs to another program; use another file');
  if (version > schemaVersion)
    throw new UnusableFileError(
      `was written by a newer version (schema ${version}, expected ${schemaVersion}); run that version, or use another file`,
    );
}

/** A migration of existing data. */
export interface Migration {
  /** Schema versions. */
  readonly from: number;
  readonly to: number;
  /** Path of the copy in the earlier version. */
  readonly copy: string;
}

/**
 * Migrates the file to this version, and keeps a copy of an earlier version unless `isTemporary`. Returns
 * undefined without a copy: for a current, new or temporary file. Throws errors of SQLite and the file
 * system.
 */
export function migrate(
  connection: SqliteConnection,
  file: string,
  isTemporary = false,
): Migration | undefined {
  const from = Number(connection.pragma('user_version'));
  if (from === schemaVersion) return undefined;
  const copy = from === 0 || isTemporary ? undefined : copyBeforeMigration(connection, file);
  connection.transaction(() => {
    for (const migration of migrations.slice(from)) connection.exec(migration);
    connection.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${schemaVersion};`);
  });
  return copy === undefined ? undefined : { from, to: schemaVersion, copy };
}
