// The contract of a store, on PostgreSQL. The tests share a database and, if they set no limits, an open
// store: a new database and a new store take a tenth of a second of processor time per test.

import { setTimeout as elapse } from 'node:timers/promises';
import pg from 'pg';
import { openPostgresStore } from '../../../../../actors/store/postgres/open-postgres-store.ts';
import type { Store } from '../../../../../actors/store/store.ts';
import { closedAfterTestFile } from '../../../../fixtures/end-of-file.ts';
import { newDatabase } from '../../../../fixtures/store/shared-postgres.ts';
import { describeStore, type StoreLimits } from '../../../../fixtures/store/store-conformance.ts';
import { describeAccessKeys } from '../../../../fixtures/store/store-keys-conformance.ts';
import { describeRuns } from '../../../../fixtures/store/store-runs-conformance.ts';
import { describeWaits } from '../../../../fixtures/store/store-waits-conformance.ts';

const url = await newDatabase();
const node = { name: 'a', address: '127.0.0.1:1' };

/** The open store without limits. A node has one open store, so a store with limits replaces it. */
let shared: Store | undefined;
const openShared = async () => {
  shared = (await openPostgresStore({ url, node })).store;
  return shared;
};
const closeShared = async () => {
  await shared?.close();
  shared = undefined;
};

await openShared();
const client = new pg.Client({ connectionString: url });
await client.connect();
closedAfterTestFile((close: () => Promise<void>) => close())
  .add(closeShared)
  .add(() => client.end());

/** Removes all rows except the membership of the open store, the clock, and the version of the tables. */
const emptyTables = `
  DO $$ DECLARE found name; BEGIN
    FOR found IN SELECT tablename FROM pg_tables
      WHERE schemaname = 'actor_gateway' AND tablename NOT IN ('node', 'clock', 'schema_version')
    LOOP EXECUTE format('DELETE FROM actor_gateway.%I', found); END LOOP;
  END $$`;

async function open(limits: StoreLimits) {
  await client.query(emptyTables);
  const passTime = (ms: number) => elapse(ms + 1);
  if (Object.keys(limits).length === 0) {
    const reopen = async () => {
      await closeShared();
      return openShared();
    };
    return { store: shared ?? (await openShared()), passTime, reopen, end: async () => undefined };
  }
  await closeShared();
  const options = { url, ...limits, node };
  let { store } = await openPostgresStore(options);
  const reopen = async () => {
    await store.close();
    ({ store } = await openPostgresStore(options));
    return store;
  };
  return { store, passTime, reopen, end: () => store.close() };
}

for (const describeIt of [describeStore, describeWaits, describeRuns, describeAccessKeys])
  describeIt(
    'the store on PostgreSQL',
    open,
    // A single node: a restart under the same name releases earlier claims.
    { isSingleNode: true, shortMs: 300 },
  );
