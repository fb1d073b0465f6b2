// Opening migrates files of schema versions 1 (with a mailbox table and a valid claim), 4 (without waiting
// events) and 8 (without targets). All data except claims is kept.

import { readdirSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import Database from 'libsql';
import { expect, test } from 'vitest';
import { openSqliteSource } from '../../../../../actors/store/sqlite/export-sqlite.ts';
import { schemaVersion } from '../../../../../actors/store/sqlite/schema.ts';
import type { Store, Turn } from '../../../../../actors/store/store.ts';
import { pauseAfterCrashMs } from '../../../../../machines/crashes.ts';
import { openEngineStore, storeFolder } from '../../../../fixtures/store/engine-store.ts';
import { exportText, rowsOf } from '../../../../fixtures/store/export-text.ts';
import { eventOf, resultOf } from '../../../../fixtures/store/store-conformance.ts';

const NOW = Date.UTC(2026, 10, 1);
const CLAIM_MS = 600_000;
const PAUSE_MS = 60_000;
/** Number of counter values that version 1 has used. */
const USED_COUNTERS = 41;

/** Table of version 1. */
const mailboxTable = `
  CREATE TABLE mailbox (
    key TEXT PRIMARY KEY,
    ready_at INTEGER,
    fence INTEGER,
    running INTEGER,
    lease_ms INTEGER
  ) WITHOUT ROWID;
  CREATE INDEX mailbox_ready ON mailbox (ready_at) WHERE ready_at IS NOT NULL;
  CREATE INDEX mailbox_kind ON mailbox (substr(key, 1, instr(key, '/')), ready_at) WHERE ready_at IS NOT NULL;
`;

/** Creates the file of a killed process: with events in all states, and with claims. */
async function fill(file: string): Promise<void> {
  const { store } = openEngineStore({ file, now: NOW });
  const states = ['running', 'retrying', 'held', 'done', 'dead'] as const;
  for (const state of states) await store.append([eventOf(`${state}:1`, `k/${state}`)]);
  for (const turn of await store.claim(10, CLAIM_MS)) {
    const state = states.find((one) => turn.key === `k/${one}`);
    if (state === undefined || state === 'running') continue;
    const timers = [{ id: 't', inMs: CLAIM_MS, event: eventOf('timer:1', 'k/timer') }];
    const more = { retryInMs: PAUSE_MS, heldBy: 'ci', snapshot: `left by ${state}` };
    await store.commit([resultOf(turn, state, state === 'done' ? { ...more, timers } : more)]);
  }
  await store.append([eventOf('running:2', 'k/running'), eventOf('queued:1', 'k/queued')]);
  await store.put('space', 'name', 'value');
  await store.tick('cron', 1_000, eventOf('cron:1', 'k/cron'));
  await store.close();
}

/** Converts the file to version 8. */
function makeVersion8(file: string): void {
  const db = new Database(file);
  db.exec('DROP INDEX delivery_parked; ALTER TABLE delivery DROP COLUMN target; PRAGMA user_version = 8');
  db.close();
}

/** Converts the file to version 4. */
function makeVersion4(file: string): void {
  makeVersion8(file);
  const db = new Database(file);
  db.exec(
    'DROP INDEX delivery_receipt; DROP INDEX delivery_waiting; DROP INDEX delivery_waker; DROP TABLE progress; DROP TABLE run; DROP TABLE step; DROP TABLE approval;',
  );
  for (const column of ['kind', 'wakes', 'waits_for', 'holds_key', 'has_progress', 'receipt', 'deferrals'])
    db.exec(`ALTER TABLE delivery DROP COLUMN ${column}`);
  for (const column of ['kind', 'wakes']) db.exec(`ALTER TABLE timer DROP COLUMN ${column}`);
  db.exec('PRAGMA user_version = 4');
  db.close();
}

/** Converts the file to version 1. */
function makeVersion1(file: string): void {
  makeVersion4(file);
  const db = new Database(file);
  db.exec(mailboxTable);
  const rows = db.prepare('SELECT key, min(seq), state, retry_at FROM delivery WHERE state < 4 GROUP BY key');
  const insert = db.prepare('INSERT INTO mailbox VALUES (?, ?, ?, ?, ?)');
  for (const [key, seq, state, retryAt] of rows.raw(true).all() as [
    string,
    number,
    number,
    number | null,
  ][]) {
    if (state === 1) insert.run([key, NOW + CLAIM_MS, USED_COUNTERS, seq, CLAIM_MS]);
    else insert.run([key, state === 3 ? null : (retryAt ?? NOW), null, null, null]);
  }
  db.exec(`
    DROP TABLE clock;
    DROP INDEX delivery_suspect;
    ALTER TABLE delivery DROP COLUMN crashes;
  `);
  db.exec(`UPDATE counter SET value = ${USED_COUNTERS}; PRAGMA user_version = 1;`);
  db.close();
}

/** Returns the schema version of the file, and the presence of the mailbox table. */
function shapeOf(file: string): { version: unknown; hasMailboxes: boolean } {
  const db = new Database(file);
  const first = (sql: string) => (db.prepare(sql).raw(true).get() as unknown[])[0];
  const shape = {
    version: first('PRAGMA user_version'),
    hasMailboxes: first("SELECT count(*) FROM sqlite_master WHERE name LIKE 'mailbox%'") !== 0,
  };
  db.close();
  return shape;
}

test('a store file of version 1 is migrated with all its data, and running events are queued again', async () => {
  const file = join(storeFolder(), 'store.sqlite');
  await fill(file);
  makeVersion1(file);
  expect(shapeOf(file)).toEqual({ version: 1, hasMailboxes: true });

  const now = NOW + 1_000;
  await openEngineStore({ file, now }).store.close();
  expect(shapeOf(file)).toEqual({ version: schemaVersion, hasMailboxes: false });
  // A second opening does not migrate, and does not count another failed attempt.
  const { store, advance } = openEngineStore({ file, now });

  const { state, attempts, crashes, failures } = (await store.delivery('running:1')) ?? {};
  expect({ state, attempts, crashes }).toEqual({ state: 'retrying', attempts: 1, crashes: 1 });
  expect(failures).toEqual([{ attempt: 1, at: now, note: expect.stringContaining('the gateway ended') }]);
  expect(await store.counts()).toEqual({ queued: 3, running: 0, retrying: 2, held: 1, waiting: 0, dead: 1 });
  expect((await store.delivery('done:1'))?.state).toBe('done');
  expect((await store.get('space', 'name'))?.value).toBe('value');
  expect(await store.lastTick('cron')).toBe(1_000);

  advance(pauseAfterCrashMs(1));
  const turns = await store.claim(10, CLAIM_MS);
  expect(turns.map(({ event }) => [event.id, event.attempt])).toEqual([
    ['queued:1', 1],
    ['cron:1', 1],
    ['running:1', 2],
  ]);
  for (const { fence, event } of turns) {
    expect(fence).toBeGreaterThan(USED_COUNTERS);
    expect(Buffer.from(event.body).toString()).toBe(`body of ${event.id}`);
  }
  const ran = turns.at(-1);
  if (ran === undefined) throw new Error('nothing was claimed');
  expect(await store.commit([{ ...resultOf(ran), fence: USED_COUNTERS }])).toMatchObject([
    { isCurrent: false },
  ]);
  expect(await store.commit([resultOf(ran)])).toMatchObject([{ isCurrent: true, next: { id: 'running:2' } }]);

  advance(PAUSE_MS - pauseAfterCrashMs(1));
  const nextClaim = await store.claim(10, CLAIM_MS);
  expect(nextClaim).toMatchObject([
    { event: { id: 'retrying:1', attempt: 2 }, snapshot: 'left by retrying' },
  ]);
  expect(await store.release('ci')).toBe(1);
  const released = await store.claim(10, CLAIM_MS);
  expect(released).toMatchObject([{ event: { id: 'held:1', attempt: 1 }, snapshot: 'left by held' }]);
  advance(CLAIM_MS - PAUSE_MS - 1_000);
  const timed = await store.claim(10, CLAIM_MS, 'k/timer');
  expect(timed).toMatchObject([{ event: { id: 'timer:1' } }]);
  await store.close();
});

test('a migration keeps a copy of the earlier version for its owner only, and replaces an older copy', async () => {
  const folder = storeFolder();
  const file = join(folder, "store's.sqlite");
  const copy = `${file}.before-migration`;
  await fill(file);
  expect(readdirSync(folder)).toEqual([basename(file)]);
  for (const [version, convert] of [
    [4, makeVersion4],
    [1, makeVersion1],
  ] as const) {
    convert(file);
    const { store, migration } = openEngineStore({ file, now: NOW + 1_000 });
    expect(migration).toEqual({ from: version, to: schemaVersion, copy });
    await store.close();
    expect(shapeOf(copy).version).toBe(version);
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).sort()).toEqual([basename(file), basename(copy)]);
  }
  const { store, migration } = openEngineStore({ file, now: NOW + 1_000 });
  expect(migration).toBeUndefined();
  await store.close();
  // The copy works in place of the store.
  const restored = openEngineStore({ file: copy, now: NOW + 1_000 });
  expect((await restored.store.delivery('done:1'))?.state).toBe('done');
  await restored.store.close();
});

test('a store file of version 4 is migrated, and its events can wait and be resumed', async () => {
  const file = join(storeFolder(), 'store.sqlite');
  await fill(file);
  makeVersion4(file);
  const { store, advance } = openEngineStore({ file, now: NOW + 1_000 });
  expect(await store.counts()).toEqual({ queued: 3, running: 0, retrying: 2, held: 1, waiting: 0, dead: 1 });
  expect(await store.delivery('queued:1')).toMatchObject({ kind: 'inbound', waitingFor: undefined });

  const turns = await store.claim(10, CLAIM_MS, 'k/queued');
  expect(turns).toMatchObject([{ event: { id: 'queued:1', attempt: 1 } }]);
  for (const turn of turns) await store.commit([resultOf(turn, 'parked', { parkedOn: 'yes', state: 'one' })]);
  await store.append([{ ...eventOf('w:1', 'k/queued'), wakes: 'yes' }]);
  const woken = await store.claim(10, CLAIM_MS, 'k/queued');
  expect(woken).toMatchObject([{ event: { id: 'queued:1', state: 'one', woken: { id: 'w:1' } } }]);

  advance(CLAIM_MS);
  const timed = await store.claim(10, CLAIM_MS, 'k/timer');
  expect(timed).toMatchObject([{ event: { id: 'timer:1' } }]);
  await store.close();
  expect(shapeOf(file).version).toBe(schemaVersion);
});

test('the parked runs of a store file of version 8 count for their agent', async () => {
  const file = join(storeFolder(), 'store.sqlite');
  const options = { file, now: NOW, maxParked: 2 };
  const park = async (store: Store, id: string) => {
    await store.append([eventOf(id, `k/${id}`)]);
    const run = { kind: 'agent', name: 'clerk', figures: '{}' } as const;
    const [turn] = await store.claim(1, CLAIM_MS, `k/${id}`);
    const result = resultOf(turn as Turn, 'parked', { parkedOn: 'yes', trigger: id, run });
    return (await store.commit([result]))[0]?.refusal;
  };
  const before = openEngineStore(options);
  expect(await park(before.store, 'one')).toBeUndefined();
  await before.store.close();
  makeVersion8(file);
  const { store } = openEngineStore(options);
  expect(await park(store, 'two')).toMatch('max_parked');
  await store.close();
});

test('an old store file is exported like a current one, and the copy kept by its migration is reported', async () => {
  const folder = storeFolder();
  const file = join(folder, 'moved.db');
  await fill(file);
  const migrations: unknown[] = [];
  const options = {
    ...{ file, onDamage: () => undefined, now: () => NOW },
    onMigrated: (migration: unknown) => migrations.push(migration),
  };
  const lines = async (isLiveCopy = false) =>
    rowsOf(await exportText(openSqliteSource({ ...options, isLiveCopy })));
  const before = await lines();
  makeVersion4(file);
  expect(await lines()).toEqual(before);
  const copy = `${file}.before-migration`;
  expect(migrations).toEqual([{ from: 4, to: schemaVersion, copy }]);

  // A backup migrates a temporary file, so it makes no copy.
  rmSync(copy);
  makeVersion4(file);
  expect(await lines(true)).toEqual(before);
  expect(readdirSync(folder)).toEqual([basename(file)]);
  expect(migrations).toHaveLength(1);
});
