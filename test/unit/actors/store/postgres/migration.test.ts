// Migrations of PostgreSQL tables, and the copy of the earlier version. The next version adds a column.

import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { Database } from '../../../../../actors/store/postgres/database.ts';
import {
  type MigrateOptions,
  migrate,
  type SchemaMigration,
} from '../../../../../actors/store/postgres/migration.ts';
import { openPostgresStore } from '../../../../../actors/store/postgres/open-postgres-store.ts';
import { migrations, schemaVersion } from '../../../../../actors/store/postgres/schema.ts';
import { executeOn } from '../../../../fixtures/store/postgres-server.ts';
import { sharedPostgres } from '../../../../fixtures/store/shared-postgres.ts';
import { commitOne, eventOf, LONG_MS, resultOf } from '../../../../fixtures/store/store-conformance.ts';

const COPY = 'actor_gateway_before_migration';
const nextVersion = [...migrations, "ALTER TABLE kv ADD COLUMN note text NOT NULL DEFAULT 'new'"];
const laterVersion = [...nextVersion, 'ALTER TABLE kv DROP COLUMN note'];

const server = await sharedPostgres();
const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()));
});

async function openStore(url: string, name = 'previous') {
  const { store } = await openPostgresStore({ url, node: { name, address: '' } });
  opened.push(store);
  return store;
}

async function migrateTo(
  url: string,
  versions: readonly string[],
  options: MigrateOptions = {},
): Promise<SchemaMigration | undefined> {
  const database = new Database({ url, connections: 1, timeoutMs: 10_000 });
  try {
    return await migrate(database, { ...options, migrations: versions });
  } finally {
    await database.close();
  }
}

async function query(url: string, text: string): Promise<readonly unknown[][]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<unknown[]>({ text, rowMode: 'array' });
  await client.end();
  return rows;
}

const versionsIn = (url: string, schema: string) =>
  query(url, `SELECT version FROM ${schema}.schema_version`);

/** Creates a user without the permission to create schemas, and returns the URL of the user. */
async function withLimitedUser(url: string, more: string): Promise<string> {
  const user = `limited_${new URL(url).pathname.slice(1)}`;
  await executeOn(url, `CREATE ROLE ${user} LOGIN PASSWORD 'secret'; ${more.replaceAll('USER', user)}`);
  return url.replace('gateway@', `${user}:secret@`);
}

test('a migration keeps a copy of the earlier version, which works in place of the store', async () => {
  const url = await server.newDatabase();
  const before = await openStore(url);
  await before.append([eventOf('done:1', 'k/1'), eventOf('queued:1', 'k/2')]);
  const [turn] = await before.claim(1, LONG_MS);
  if (turn === undefined) throw new Error('nothing was claimed');
  await commitOne(before, resultOf(turn));
  await before.put('space', 'name', 'value');

  expect(await migrateTo(url, nextVersion)).toEqual({
    from: schemaVersion,
    to: schemaVersion + 1,
    copy: { schema: COPY },
  });
  expect(await versionsIn(url, 'actor_gateway')).toEqual([[schemaVersion + 1]]);
  expect(await versionsIn(url, COPY)).toEqual([[schemaVersion]]);
  expect(await query(url, 'SELECT note FROM actor_gateway.kv')).toEqual([['new']]);
  // The previous version continues on the migrated tables, without effect on the copy.
  await before.append([eventOf('late:1', 'k/3')]);
  expect(await migrateTo(url, nextVersion)).toBeUndefined();
  await before.close();

  await executeOn(url, `DROP SCHEMA actor_gateway CASCADE; ALTER SCHEMA ${COPY} RENAME TO actor_gateway`);
  const restored = await openStore(url, 'restored');
  expect((await restored.delivery('done:1'))?.state).toBe('done');
  expect((await restored.get('space', 'name'))?.value).toBe('value');
  expect(await restored.delivery('late:1')).toBeUndefined();
  await restored.append([eventOf('new:1', 'k/3')]);
  const claimed = await restored.claim(5, LONG_MS);
  expect(claimed.map(({ event }) => event.id).sort()).toEqual(['new:1', 'queued:1']);
  expect(Math.min(...claimed.map(({ fence }) => fence))).toBeGreaterThan(turn.fence);
  await restored.close();
  // Its indexes have the names that later migrations expect.
  const indexes = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'actor_gateway' ORDER BY 1";
  const fresh = await server.newDatabase();
  await (await openStore(fresh)).close();
  expect(await query(url, indexes)).toEqual(await query(fresh, indexes));
});

test('the next migration replaces the copy', async () => {
  const url = await server.newDatabase();
  await openStore(url);
  await migrateTo(url, nextVersion);
  expect(await migrateTo(url, laterVersion)).toMatchObject({ copy: { schema: COPY } });
  expect(await versionsIn(url, COPY)).toEqual([[schemaVersion + 1]]);
  expect(await query(url, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'actor%' ORDER BY 1")).toEqual(
    [['actor_gateway'], [COPY]],
  );
});

test('the copy has all tables as of one instant, while a node of the previous version writes', async () => {
  const url = await server.newDatabase();
  const before = await openStore(url);
  const append = (from: number, count: number) =>
    before.append(Array.from({ length: count }, (_, at) => eventOf(`e:${from + at}`, `k/${from + at}`)));
  for (let from = 0; from < 4_000; from += 500) await append(from, 500);
  let isMigrated = false;
  let accepted = 4_000;
  const writing = (async () => {
    for (; !isMigrated; accepted += 1) await append(accepted, 1);
  })();
  const nodes = ['a', 'b', 'c', 'd'].map(() => migrateTo(url, nextVersion));
  const reports = await Promise.all(nodes).finally(() => {
    isMigrated = true;
  });
  await writing;
  expect(reports.filter((report) => report !== undefined)).toEqual([
    { from: schemaVersion, to: schemaVersion + 1, copy: { schema: COPY } },
  ]);
  const [[deliveries, bodies, mailboxes] = []] = await query(
    url,
    `SELECT (SELECT count(*)::int FROM ${COPY}.delivery), (SELECT count(*)::int FROM ${COPY}.body),
      (SELECT count(*)::int FROM ${COPY}.mailbox)`,
  );
  expect([bodies, mailboxes]).toEqual([deliveries, deliveries]);
  expect(await query(url, 'SELECT count(*)::int FROM actor_gateway.delivery')).toEqual([[accepted]]);
});

test('a user without the permission to create schemas migrates without a copy, and receives the reason', async () => {
  const url = await server.newDatabase();
  const limitedUrl = await withLimitedUser(url, 'CREATE SCHEMA actor_gateway AUTHORIZATION USER');
  const store = await openStore(limitedUrl);
  expect(await migrateTo(limitedUrl, nextVersion)).toEqual({
    from: schemaVersion,
    to: schemaVersion + 1,
    copy: {
      reason:
        'the user of the database may not create schemas; grant CREATE on the database, or run "pg_dump --schema=actor_gateway" before an upgrade',
    },
  });
  expect(await versionsIn(url, 'actor_gateway')).toEqual([[schemaVersion + 1]]);
  await store.append([eventOf('e:1', 'k/1')]);
});

test('a foreign schema with the name of the copy stays unchanged', async () => {
  const url = await server.newDatabase();
  await executeOn(url, `CREATE SCHEMA ${COPY}; CREATE TABLE ${COPY}.mine (id int)`);
  const name = new URL(url).pathname.slice(1);
  const limitedUrl = await withLimitedUser(url, `GRANT CREATE ON DATABASE ${name} TO USER`);
  await openStore(limitedUrl);
  expect(await migrateTo(limitedUrl, nextVersion)).toMatchObject({
    to: schemaVersion + 1,
    copy: { reason: expect.stringContaining('may not create schemas') },
  });
  expect(await query(url, `SELECT * FROM ${COPY}.mine`)).toEqual([]);
});

test.each([
  [{ maxBytes: 1 }, /^the tables have \d+ MB, the limit is 0 MB; run "pg_dump/],
  [{ maxMs: 1 }, /^it takes longer than 0.001 seconds; run "pg_dump/],
])(
  'a copy beyond its limit (%o) is omitted with the reason, and the earlier copy stays',
  async (limits, reason) => {
    const url = await server.newDatabase();
    await openStore(url);
    await migrateTo(url, nextVersion);
    expect(await migrateTo(url, laterVersion, limits)).toEqual({
      from: schemaVersion + 1,
      to: schemaVersion + 2,
      copy: { reason: expect.stringMatching(reason) },
    });
    expect(await versionsIn(url, 'actor_gateway')).toEqual([[schemaVersion + 2]]);
    expect(await versionsIn(url, COPY)).toEqual([[schemaVersion]]);
  },
);

test('a node that starts during a migration waits for its end', async () => {
  const url = await server.newDatabase();
  await openStore(url);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('SELECT pg_advisory_lock(1634162515, 4)');
  let isWaiting = false;
  const onWaiting = () => {
    isWaiting = true;
    void migrateTo(url, migrations).then(() => client.end());
  };
  const migration = await migrateTo(url, nextVersion, { onWaiting });
  expect([isWaiting, migration?.to]).toEqual([true, schemaVersion + 1]);
});
