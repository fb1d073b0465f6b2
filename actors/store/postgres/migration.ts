// Migrates the tables of PostgreSQL to this version, or creates them, in one transaction. Several nodes can
// start together, so it holds an advisory lock. One node copies existing tables first (migration-copy.ts),
// under a second lock: meanwhile nodes of the previous version can still start, and continue to write.
// Tables that a newer version changed incompatibly are rejected.

import type pg from 'pg';
import { StoreUnavailableError } from '../../base/errors/errors.ts';
import { type Database, statement, type Transaction } from './database.ts';
import { type CopyOptions, copyBeforeMigration, type TableCopy } from './migration-copy.ts';
import { migrations as releasedMigrations } from './schema.ts';

/** A migration of existing tables. */
export interface SchemaMigration {
  /** Schema versions. */
  readonly from: number;
  readonly to: number;
  readonly copy: TableCopy;
}

export interface MigrateOptions extends CopyOptions {
  /** Migrations of all versions, in order. Tests add some. */
  readonly migrations?: readonly string[];
  /** Called if another node is copying or migrating the tables. */
  readonly onWaiting?: (() => void) | undefined;
}

/** Maximum duration of a migration with its copy, and of the wait for another node. */
const MAX_MIGRATION_MS = 600_000;
/** Key of the advisory lock: "aGwS" in ASCII, as in the header of the SQLite file. */
const LOCK = 0x61_47_77_53;
const lockTables = statement(`SELECT pg_advisory_xact_lock(${LOCK})`);
const LOCK_COPY = 'pg_advisory_lock(1634162515, 4)';
const TRY_LOCK_COPY = 'pg_try_advisory_lock(1634162515, 4)';

/** Resolves to undefined for new or current tables. Rejects with StoreUnavailableError. */
export async function migrate(
  database: Database,
  { migrations = releasedMigrations, onWaiting, ...copyOptions }: MigrateOptions = {},
): Promise<SchemaMigration | undefined> {
  const to = migrations.length;
  const from = await database.transaction(async (transaction) => {
    const version = await lockedVersion(transaction, to);
    if (version === 0) await apply(transaction, migrations, version);
    return version;
  });
  if (from === 0 || from >= to) return undefined;
  return database.withConnection(MAX_MIGRATION_MS, async (client) => {
    await lockCopy(client, onWaiting);
    const isCurrent = await database.transaction(
      async (transaction) => (await lockedVersion(transaction, to)) >= to,
    );
    if (isCurrent) return undefined;
    const copy = await copyBeforeMigration(client, migrations.slice(0, from), copyOptions);
    await database.transaction(async (transaction) => {
      const version = await lockedVersion(transaction, to);
      await apply(transaction, migrations, version);
    });
    return { from, to, copy };
  });
}

/** Locks the tables until the end of the transaction, and returns their version; 0 without tables. */
async function lockedVersion(transaction: Transaction, expected: number): Promise<number> {
  await transaction.rows(lockTables);
  const [[hasSchema] = [false]] = await transaction.query<[hasSchema: boolean]>(
    "SELECT to_regnamespace('actor_gateway') IS NOT NULL",
    [],
  );
  // IF NOT EXISTS requires the permission to create schemas even for an existing schema.
  if (!hasSchema) await transaction.query('CREATE SCHEMA actor_gateway', []);
  await transaction.query(
    'CREATE TABLE IF NOT EXISTS schema_version (version int NOT NULL, oldest int NOT NULL)',
    [],
  );
  const [[version, oldest] = [0, 0]] = await transaction.query<[version: number, oldest: number]>(
    'SELECT version, oldest FROM schema_version',
    [],
  );
  if (oldest > expected)
    throw new StoreUnavailableError(
      `the database was migrated by a newer version (schema ${version}, expected ${expected}); run that version`,
    );
  return version;
}

async function apply(transaction: Transaction, migrations: readonly string[], from: number): Promise<void> {
  for (const migration of migrations.slice(from)) await transaction.query(migration, []);
  // The previous version still runs on these tables.
  const to = migrations.length;
  await transaction.query('DELETE FROM schema_version', []);
  await transaction.query('INSERT INTO schema_version VALUES ($1, $2)', [to, to - 1]);
}

/** Holds the lock until the end of the connection. */
async function lockCopy(client: pg.Client, onWaiting: (() => void) | undefined): Promise<void> {
  const { rows } = await client.query<[isLocked: boolean]>({
    text: `SELECT ${TRY_LOCK_COPY}`,
    rowMode: 'array',
  });
  if (rows[0]?.[0] === true) return;
  onWaiting?.();
  await client.query(`SELECT ${LOCK_COPY}`);
}
