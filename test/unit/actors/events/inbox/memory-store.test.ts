// The in-memory store of the inbox tests must pass the conformance suite of the real stores.

import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';
import { describeStore } from '../../../../fixtures/store/store-conformance.ts';
import { describeAccessKeys } from '../../../../fixtures/store/store-keys-conformance.ts';
import { describeRuns } from '../../../../fixtures/store/store-runs-conformance.ts';
import { describeWaits } from '../../../../fixtures/store/store-waits-conformance.ts';

for (const describeIt of [describeStore, describeWaits, describeRuns, describeAccessKeys])
  describeIt(
    'the in-memory store',
    async (limits) => {
      let now = Date.UTC(2026, 10, 21);
      const store = new MemoryStore({ now: () => now, ...limits });
      return {
        store,
        passTime: async (ms) => {
          now += ms;
          store.noticeTime();
        },
        reopen: async () => {
          store.restart();
          return store;
        },
        end: () => store.close(),
      };
    },
    { isSingleNode: true },
  );
