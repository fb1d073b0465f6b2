// What SQLite itself takes for an event, with nothing of the gateway around it: the event and its body are inserted, its
// outcome is noted, and each of the two steps is synced in groups of 64. The settings are those of the gateway's store, the
// tables have only what an event cannot do without: one index for its id, one for what is unfinished.
//
// node bench/sqlite-alone.mjs FILE SECONDS      prints processor time per event, and events per second

import { rmSync } from 'node:fs';
import Database from 'libsql';

const [file, seconds] = process.argv.slice(2);
const TOGETHER = 64;
const CONVERSATIONS = 1_024;
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
const end = db.prepare('UPDATE event SET state = ?, ended = ?, trigger = ?, answer = ? WHERE seq = ?');
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

function group() {
  const now = Date.now();
  const seqs = transaction(() =>
    Array.from({ length: TOGETHER }, () => {
      count += 1;
      const key = `conversation/repohost/octocat/parts#${count % CONVERSATIONS}`;
      const { lastInsertRowid } = insert.run([`repohost:alone/${count}`, key, trace, now]);
      insertBody.run([lastInsertRowid, meta, body]);
      return lastInsertRowid;
    }),
  );
  transaction(() => seqs.map((seq) => end.run([DONE, now, 'events', '', seq])));
}

function runFor(ms) {
  const until = performance.now() + ms;
  while (performance.now() < until) group();
}

runFor(500);
const before = { count, at: performance.now(), cpu: process.cpuUsage() };
runFor(Number(seconds) * 1000);
const events = count - before.count;
const { user, system } = process.cpuUsage(before.cpu);
console.log(`processor time: ${((user + system) / events).toFixed(1)} us per event`);
console.log(`rate: ${Math.round((events / (performance.now() - before.at)) * 1000)} events/s`);
db.close();
for (const suffix of suffixes) rmSync(file + suffix, { force: true });
