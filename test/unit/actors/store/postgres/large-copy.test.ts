// Copies before a migration that do not fit: on a full disk, above the default limit of the size, and behind
// a lock. The server has a small disk, on which sparse files make tables as large as the limits.

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Database } from '../../../../../actors/store/postgres/database.ts';
import { type MigrateOptions, migrate } from '../../../../../actors/store/postgres/migration.ts';
import { openPostgresStore } from '../../../../../actors/store/postgres/open-postgres-store.ts';
import { migrations, schemaVersion } from '../../../../../actors/store/postgres/schema.ts';
import { type PostgresServer, startPostgres } from '../../../../fixtures/store/postgres-server.ts';
import { eventOf } from '../../../../fixtures/store/store-conformance.ts';

const DISK_MB = 80;
const MEGABYTE = 1024 * 1024;
/** PostgreSQL divides tables into files of this size. */
const SEGMENT_BYTES = 1024 * MEGABYTE;
const COPY = 'actor_gateway_before_migration';
const PG_DUMP = 'run "pg_dump --schema=actor_gateway" before an upgrade';
const nextVersion = [...migrations, "ALTER TABLE kv ADD COLUMN note text NOT NULL DEFAULT 'new'"];
const laterVersion = [...nextVersion, 'ALTER TABLE kv DROP COLUMN note'];

let server: PostgresServer;
const stores: { close(): Promise<void> }[] = [];
beforeAll(async () => {
  server = await startPostgres(['fsync=off', 'autovacuum=off'], { diskMb: DISK_MB });
});
afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()));
});
afterAll(() => server.stop());

async function newStore() {
  const url = await server.newDatabase();
  const { store } = await openPostgresStore({ url, node: { name: 'previous', address: '' } });
  stores.push(store);
  await store.put('space', 'name', 'value');
  return { url, store };
}

async function migrateTo(url: string, versions: readonly string[], options: MigrateOptions = {}) {
  const database = new Database({ url, connections: 1, timeoutMs: 10_000 });
  try {
    return await migrate(database, { ...options, migrations: versions });
  } finally {
    await database.close();
  }
}

async function cellOf<T>(url: string, sql: string): Promise<T | undefined> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query({ text: sql, rowMode: 'array' });
  await client.end();
  return rows[0]?.[0];
}

/** Path of a file on the disk of the server, which only the server sees. */
const onDisk = (file: string) => join(`/proc/${server.pid}/root${server.folder}/disk`, file);

/** Executes a command as the user of the server. */
function runOnDisk(program: string, ...args: string[]): void {
  const { uid, gid } = statSync(onDisk('.'));
  execFileSync(program, args, { uid, gid, cwd: '/' });
}

/** Extends a table with empty pages, without disk space. */
async function extendTable(url: string, table: string, bytes: number): Promise<void> {
  const path = await cellOf<string>(url, `SELECT pg_relation_filepath('${table}')`);
  const first = onDisk(path?.replace(/^pg_tblspc\/\d+\//, '') ?? '');
  for (let segment = 0; segment * SEGMENT_BYTES < bytes; segment += 1) {
    const size = Math.min(SEGMENT_BYTES, bytes - segment * SEGMENT_BYTES);
    runOnDisk('truncate', '-s', String(size), segment === 0 ? first : `${first}.${segment}`);
  }
}

test('a copy for which the disk has no space is omitted with the reason, and the migration continues', async () => {
  const { url, store } = await newStore();
  const large = Array.from({ length: 25 }, (_, n) => eventOf(`e:${n}`, `k/${n}`, randomBytes(200_000)));
  await store.append(large);
  const { bavail, bsize } = statfsSync(onDisk('.'));
  runOnDisk('truncate', '-s', '0', onDisk('filler'));
  runOnDisk('fallocate', '-l', String(bavail * bsize - 2 * MEGABYTE), onDisk('filler'));
  expect(await migrateTo(url, nextVersion)).toEqual({
    from: schemaVersion,
    to: schemaVersion + 1,
    copy: { reason: `the database has no disk space for it; free some, or ${PG_DUMP}` },
  });
  expect(await cellOf(url, 'SELECT note FROM actor_gateway.kv')).toBe('new');
  expect(await cellOf(url, `SELECT to_regnamespace('${COPY}')::text`)).toBeNull();
  // The incomplete copy uses no space.
  await store.append([eventOf('e:later', 'k/later', randomBytes(200_000))]);
  runOnDisk('rm', onDisk('filler'));
  expect(await migrateTo(url, laterVersion)).toMatchObject({ copy: { schema: COPY } });
});

test('tables above 4 GiB are not copied, and the reason contains their size and the command', async () => {
  const { url } = await newStore();
  await extendTable(url, 'actor_gateway.kv', 4.5 * SEGMENT_BYTES);
  expect(await migrateTo(url, nextVersion)).toEqual({
    from: schemaVersion,
    to: schemaVersion + 1,
    copy: {
      reason: expect.stringMatching(
        new RegExp(`^the tables have 46\\d\\d MB, the limit is 4096 MB; ${PG_DUMP}$`),
      ),
    },
  });
  expect(await cellOf(url, `SELECT to_regnamespace('${COPY}')::text`)).toBeNull();
});

test('a large table below the limit is reported and copied', async () => {
  const { url } = await newStore();
  await extendTable(url, 'actor_gateway.kv', 300 * MEGABYTE);
  const reports: (readonly [string, number])[] = [];
  const onLargeTable = (table: string, bytes: number) => void reports.push([table, bytes]);
  expect(await migrateTo(url, nextVersion, { onLargeTable })).toMatchObject({ copy: { schema: COPY } });
  expect(reports).toEqual([['kv', expect.any(Number)]]);
  expect(reports[0]?.[1]).toBeGreaterThanOrEqual(300 * MEGABYTE);
  expect(await cellOf(url, `SELECT count(*)::int FROM ${COPY}.kv`)).toBe(1);
});

test('a copy that waits for a lock beyond its time is omitted, and the migration follows', async () => {
  const { url } = await newStore();
  const other = new pg.Client({ connectionString: url });
  await other.connect();
  await other.query('BEGIN; LOCK TABLE actor_gateway.kv IN ACCESS EXCLUSIVE MODE');
  const migration = migrateTo(url, nextVersion, { maxMs: 300 });
  await expect.poll(() => cellOf(url, `SELECT count(*)::int FROM pg_locks WHERE NOT granted`)).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 600));
  await other.query('COMMIT');
  await other.end();
  expect(await migration).toEqual({
    from: schemaVersion,
    to: schemaVersion + 1,
    copy: { reason: `it takes longer than 0.3 seconds; ${PG_DUMP}` },
  });
  expect(await cellOf(url, 'SELECT note FROM actor_gateway.kv')).toBe('new');
});
