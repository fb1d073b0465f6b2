// Copies the tables before a migration into the schema `actor_gateway_before_migration`. The next migration
// replaces the copy. The migrations of the earlier version create the copied tables, so the copy works in
// place of the store after a rename. A repeatable-read transaction reads all tables as of one instant,
// while other nodes continue to write. A missing copy does not prevent the migration.

import type pg from 'pg';

/** The schema of the copy, or the reason for its absence, with the remedy. */
export type TableCopy = { readonly schema: string } | { readonly reason: string };

export interface CopyOptions {
  /** Maximum size of the tables with their indexes. */
  readonly maxBytes?: number;
  readonly maxMs?: number;
  /** Called before each large table. */
  readonly onLargeTable?: ((table: string, bytes: number) => void) | undefined;
}

const SCHEMA = 'actor_gateway_before_migration';
const MEGABYTE = 1024 * 1024;
/** The write-ahead log of the copy needs as much disk space again. */
const MAX_COPY_BYTES = 4096 * MEGABYTE;
const MAX_COPY_MS = 300_000;
const LARGE_TABLE_BYTES = 256 * MEGABYTE;

const DENIED = '42501';
const CANCELED = '57014';
const DISK_FULL = '53100';

/** `migrations` create the tables of the earlier version. Rejects with errors of the connection. */
export async function copyBeforeMigration(
  client: pg.Client,
  migrations: readonly string[],
  { maxBytes = MAX_COPY_BYTES, maxMs = MAX_COPY_MS, onLargeTable }: CopyOptions,
): Promise<TableCopy> {
  const reasons: Readonly<Record<string, string>> = {
    [DENIED]: 'the user of the database may not create schemas; grant CREATE on the database, or',
    [CANCELED]: `it takes longer than ${maxMs / 1000} seconds;`,
    [DISK_FULL]: 'the database has no disk space for it; free some, or',
  };
  const missing = (reason: string) => ({
    reason: `${reason} run "pg_dump --schema=actor_gateway" before an upgrade`,
  });
  const deadline = performance.now() + maxMs;
  /** A single query can take the remaining time. */
  const limitTime = async () => {
    const remainingMs = Math.max(1, Math.ceil(deadline - performance.now()));
    await client.query(`SET LOCAL statement_timeout = ${remainingMs}`);
  };
  const run = async (text: string) => {
    await limitTime();
    await client.query(text);
  };
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await limitTime();
    // Waits for transactions that lock a table.
    const sizes = await tableSizes(client);
    const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    if (bytes > maxBytes) {
      await client.query('ROLLBACK');
      return missing(
        `the tables have ${Math.ceil(bytes / MEGABYTE)} MB, the limit is ${Math.floor(maxBytes / MEGABYTE)} MB;`,
      );
    }
    await run(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`);
    await run(`CREATE SCHEMA ${SCHEMA}`);
    await run(`SET LOCAL search_path = ${SCHEMA}`);
    for (const migration of migrations) await run(migration);
    await run('CREATE TABLE schema_version (version int NOT NULL, oldest int NOT NULL)');
    for (const table of await relations(client, 'r')) {
      const size = sizes.get(table) ?? 0;
      if (size >= LARGE_TABLE_BYTES) onLargeTable?.(table, size);
      // A migration can insert initial rows.
      await run(`DELETE FROM ${table}`);
      await run(`INSERT INTO ${table} SELECT * FROM actor_gateway.${table}`);
    }
    for (const sequence of await relations(client, 'S'))
      await run(`SELECT setval('${sequence}', last_value, is_called) FROM actor_gateway.${sequence}`);
    await client.query('COMMIT');
    return { schema: SCHEMA };
  } catch (error) {
    await client.query('ROLLBACK');
    const reason = reasons[(error as { code?: string }).code ?? ''];
    if (reason === undefined) throw error;
    return missing(reason);
  }
}

/** Names of the copy's tables (`r`) or sequences (`S`). */
async function relations(client: pg.Client, kind: 'r' | 'S'): Promise<readonly string[]> {
  const { rows } = await client.query<[name: string]>({
    text: 'SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = $2 ORDER BY relname',
    values: [SCHEMA, kind],
    rowMode: 'array',
  });
  return rows.map(([name]) => name);
}

/** Sizes of the tables with their indexes, in bytes. */
async function tableSizes(client: pg.Client): Promise<ReadonlyMap<string, number>> {
  const { rows } = await client.query<[name: string, bytes: string]>({
    text: "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relnamespace = 'actor_gateway'::regnamespace AND relkind = 'r'",
    rowMode: 'array',
  });
  return new Map(rows.map(([name, bytes]) => [name, Number(bytes)]));
}
