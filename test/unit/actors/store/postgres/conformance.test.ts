import { setTimeout as elapse } from 'node:timers/promises';
import { openPostgresStore } from '../../../../../actors/store/postgres/open-postgres-store.ts';
import { newDatabase } from '../../../../fixtures/store/shared-postgres.ts';
import { describeStore } from '../../../../fixtures/store/store-conformance.ts';
import { describeRuns } from '../../../../fixtures/store/store-runs-conformance.ts';
import { describeWaits } from '../../../../fixtures/store/store-waits-conformance.ts';

for (const describeIt of [describeStore, describeWaits, describeRuns])
  describeIt(
    'the store on PostgreSQL',
    async (limits) => {
      const url = await newDatabase();
      const options = { url, ...limits, node: { name: 'a', address: '127.0.0.1:1' } };
      let { store } = await openPostgresStore(options);
      return {
        store,
        passTime: (ms) => elapse(ms + 1),
        reopen: async () => {
          await store.close();
          ({ store } = await openPostgresStore(options));
          return store;
        },
        end: () => store.close(),
      };
    },
    // A single node: a restart under the same name releases earlier claims.
    { isSingleNode: true, shortMs: 300 },
  );
