// The conformance suite of the store on a real PostgreSQL.

import { setTimeout as elapse } from 'node:timers/promises';
import { afterAll, beforeAll } from 'vitest';
import { openPostgresStore } from '../../../../../actors/store/postgres/open-postgres-store.ts';
import { type PostgresServer, startPostgres } from '../../../../fixtures/store/postgres-server.ts';
import { describeStore } from '../../../../fixtures/store/store-conformance.ts';
import { describeRuns } from '../../../../fixtures/store/store-runs-conformance.ts';
import { describeWaits } from '../../../../fixtures/store/store-waits-conformance.ts';

let server: PostgresServer | undefined;
beforeAll(async () => {
  // Nothing here is killed, and making a database for each test would sync its files.
  server = await startPostgres(['fsync=off']);
});
afterAll(() => server?.stop());

for (const describeIt of [describeStore, describeWaits, describeRuns])
  describeIt(
    'the store on PostgreSQL',
    async (limits) => {
      const url = (await server?.newDatabase()) ?? '';
      const options = { url, ...limits, node: { name: 'a', address: '127.0.0.1:1' } };
      let { store } = await openPostgresStore(options);
      return {
        store,
        pass: (ms) => elapse(ms + 1),
        reopen: async () => {
          await store.close();
          ({ store } = await openPostgresStore(options));
          return store;
        },
        end: () => store.close(),
      };
    },
    // Of its own name a node is the only one: what it held before is over when it begins anew.
    { isSingleNode: true, shortMs: 300 },
  );
