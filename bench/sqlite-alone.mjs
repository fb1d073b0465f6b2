// Lower limit of an event's cost: SQLite without the gateway's store. A transaction inserts 64 events with
// their bodies, a second one stores the outcomes. The settings equal the settings of the gateway's store. The
// tables have only the necessary columns, an index of ids and an index of unfinished events.
//
// node bench/sqlite-alone.mjs FILE SECONDS      prints processor time per event, and events per second

import { rmSync } from 'node:fs';
import Database from 'libsql';

const [file, seconds] = process.argv.slice(2);
const EVENTS_PER_GROUP = 64;
const CONVERSATIONS = 1_024;
/** State code for a finished event in the gateway's store. */
const DONE = 5;
const suffixes = ['', '-wal', '-shm'];
for (const suffix of suffixes) rmSync(file + suffix, { force: true });

const db = new Database(file);
for (const setting of ['locking_mode = EXCLUSIVE', 'journal_mode = WAL', 'synchronous = FULL'])
  db.exec(`PRAGMA ${setting}`);
for (const setting of ['wal_autocheckpoint = 2000', 'cache_size = -32768', 'temp_store = MEMORY'])
  db.exec(`PRAGMA ${setting}`);
db.exec(`
  CREATE TABLE event (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, key TEXT NOT NULL, trace TEXT NOT NULL,
    state INTEGER NOT NULL, at INTEGER NOT NULL, ended INTEGER, trigger TEXT, answer TEXT);
  CREATE INDEX unfinished ON event (key, seq) WHERE state < 4;
  CREATE TABLE body (seq INTEGER PRIMARY KEY, meta TEXT NOT NULL, body BLOB NOT NULL);
`);
const insert = db.prepare('INSERT INTO event (id, key, trace, state, at) VALUES (?, ?, ?, 1, ?)');
const insertBody = db.prepare('INSERT INTO body (seq, meta, body) VALUES (?, ?, ?)');
const storeOutcome = db.prepare(
  'UPDATE event SET state = ?, ended = ?, trigger = ?, answer = ? WHERE seq = ?',
);
const body = Buffer.alloc(1_000, 'x');
const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const meta = '{"triggers":["events"],"event":"issues","isForm":false}';
let count = 0;

function transaction(action) {
  db.exec('BEGIN IMMEDIATE');
  const result = action();
  db.exec('COMMIT');
  return result;
}

function handleGroup() {
  const now = Date.now();
  const seqs = transaction(() =>
    Array.from({ length: EVENTS_PER_GROUP }, () => {
      count += 1;
      const key = `conversation/repohost/octocat/parts#${count % CONVERSATIONS}`;
      const { lastInsertRowid } = insert.run([`repohost:alone/${count}`, key, trace, now]);
      insertBody.run([lastInsertRowid, meta, body]);
      return lastInsertRowid;
    }),
  );
  transaction(() => {
    for (const seq of seqs) storeOutcome.run([DONE, now, 'events', '', seq]);
  });
}

function runFor(ms) {
  const stopAt = performance.now() + ms;
  while (performance.now() < stopAt) handleGroup();
}

// Warm-up.
runFor(500);
const before = { count, at: performance.now(), cpu: process.cpuUsage() };
runFor(Number(seconds) * 1000);
const events = count - before.count;
const { user, system } = process.cpuUsage(before.cpu);
console.log(`processor time: ${((user + system) / events).toFixed(1)} us per event`);
console.log(`rate: ${Math.round((events / (performance.now() - before.at)) * 1000)} events/s`);
db.close();
for (const suffix of suffixes) rmSync(file + suffix, { force: true });
