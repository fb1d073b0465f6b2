// The tables, and the migrations from older versions of the file. Small columns that change often and large ones that never
// change are in separate tables, so that a change of state does not rewrite a body.
//
// SM1  a migration is applied whole or not at all, and is never edited once released; a change is a further one.
// SM2  a file that is not ours, or of a newer version, is left as it is.

import { type SqliteConnection, UnusableFileError } from './connection.ts';

/** In the head of the file, as `file` and others show it: "aGwS". */
const APPLICATION_ID = 0x61_47_77_53;

const migrations: readonly string[] = [
  `
  -- The record of every event for the retention time, and with it the ids that were seen.
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

  -- A key has a row while it has unfinished events. ready_at: from when it may be claimed, and while it is claimed the
  -- end of the claim; null while its first event is held. running: the event that was given with the claim.
  CREATE TABLE mailbox (
    key TEXT PRIMARY KEY,
    ready_at INTEGER,
    fence INTEGER,
    running INTEGER,
    lease_ms INTEGER
  ) WITHOUT ROWID;
  CREATE INDEX mailbox_ready ON mailbox (ready_at) WHERE ready_at IS NOT NULL;
  -- By the first word of the key, so that whoever asks for one kind does not wade through a backlog of the others.
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

  -- One row: fences, epochs and versions are drawn from it, so that they grow even where the row before is gone.
  CREATE TABLE counter (value INTEGER NOT NULL);
  INSERT INTO counter VALUES (0);
  `,
  // Who holds which mailbox is of no use to the next process.
  'DROP TABLE mailbox;',
  // How often the process ended while the event was handled.
  `
  ALTER TABLE delivery ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX delivery_suspect ON delivery (seq, crashes) WHERE crashes > 0 AND state < 4;
  `,
  // What the clock said when that was last noted: it tells a start that somebody has set it back meanwhile.
  'CREATE TABLE clock (at INTEGER NOT NULL); INSERT INTO clock VALUES (0);',
  // What a platform calls a message that was sent, and how often something was put off.
  `
  ALTER TABLE delivery ADD COLUMN receipt TEXT;
  ALTER TABLE delivery ADD COLUMN deferrals INTEGER NOT NULL DEFAULT 0;
  `,
  // What only few events have. waits_for and holds_key: while it is parked; its retry_at is then when a timer wakes it.
  // Nothing here changes with the state of an event that has none of it.
  `
  ALTER TABLE delivery ADD COLUMN kind TEXT;
  ALTER TABLE delivery ADD COLUMN wakes TEXT;
  ALTER TABLE delivery ADD COLUMN waits_for TEXT;
  ALTER TABLE delivery ADD COLUMN holds_key INTEGER;
  ALTER TABLE delivery ADD COLUMN has_progress INTEGER;
  CREATE INDEX delivery_waiting ON delivery (key, waits_for, seq) WHERE waits_for IS NOT NULL;
  CREATE INDEX delivery_waker ON delivery (key, wakes, seq) WHERE wakes IS NOT NULL;

  -- What was kept of an event along its way, and what woke it last. It may be large, and a record changes often.
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
  // For what a platform says of a message afterwards.
  'CREATE INDEX delivery_receipt ON delivery (receipt) WHERE receipt IS NOT NULL;',
  // Journals, and who was asked. Only few events have either.
  `
  CREATE TABLE run (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, figures TEXT NOT NULL);
  CREATE INDEX run_name ON run (name, seq);
  -- total: the bytes of the journal, this row included. Before the text, which may go on in other pages.
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
];

export const schemaVersion = migrations.length;

/** Reads only. Throws UnusableFileError for a file that is not ours, or of a newer version; and errors of SQLite. */
export function refuseForeign(connection: SqliteConnection): void {
  const version = Number(connection.pragma('user_version'));
  const application = Number(connection.pragma('application_id'));
  const tables =
    connection.prepare<readonly [number]>('SELECT count(*) FROM sqlite_master').get([])?.[0] ?? 0;
  if (tables > 0 && application !== APPLICATION_ID)
    throw new UnusableFileError('is a database of another program; name another file');
  if (version > schemaVersion)
    throw new UnusableFileError(
      `was written by a newer version (schema ${version}, here ${schemaVersion}); run that version, or name another file`,
    );
}

/** Brings the file to this version. Throws errors of SQLite. */
export function migrate(connection: SqliteConnection): void {
  connection.transaction(() => {
    const version = Number(connection.pragma('user_version'));
    if (version === schemaVersion) return;
    for (const migration of migrations.slice(version)) connection.exec(migration);
    connection.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${schemaVersion};`);
  });
}
