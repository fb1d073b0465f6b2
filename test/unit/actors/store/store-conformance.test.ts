// Conformance suite of the store on the embedded engine, with a fake clock. `npm run test:long` also runs it
// in the worker, with the real clock.

import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { openSqliteStore } from '../../../../actors/store/worker/sqlite-store.ts';
import { isShort } from '../../../fixtures/property-runs.ts';
import { openEngineStore, storeFolder } from '../../../fixtures/store/engine-store.ts';
import { describeStore } from '../../../fixtures/store/store-conformance.ts';
import { describeAccessKeys } from '../../../fixtures/store/store-keys-conformance.ts';
import { describeRuns } from '../../../fixtures/store/store-runs-conformance.ts';
import { describeWaits } from '../../../fixtures/store/store-waits-conformance.ts';
import { storeWorkerUrl } from '../../../fixtures/store/store-worker.ts';

const folder = storeFolder();
const newFile = () => join(mkdtempSync(join(folder, 'file-')), 'store.db');
const remove = (file: string) => rmSync(join(file, '..'), { recursive: true });

for (const describeIt of [describeStore, describeWaits, describeRuns, describeAccessKeys]) {
  for (const rehearses of [false, true])
    describeIt(
      rehearses ? 'the engine, each of whose transactions fails once' : 'the engine',
      async (limits) => {
        const file = newFile();
        let present = openEngineStore({ file, rehearses, ...limits });
        return {
          store: present.store,
          passTime: async (ms) => present.advance(ms),
          reopen: async () => {
            await present.store.close();
            present = openEngineStore({ file, now: present.now(), rehearses, ...limits });
            return present.store;
          },
          end: async () => {
            await present.store.close();
            remove(file);
          },
        };
      },
      { isSingleNode: true },
    );

  if (isShort) continue;
  describeIt(
    'the store in its worker',
    async (limits) => {
      const options = { file: newFile(), workerUrl: storeWorkerUrl(), ...limits };
      let present = await openSqliteStore(options);
      return {
        store: present,
        // The tests only wait for elapsed time.
        passTime: (ms) => elapse(ms + 1),
        reopen: async () => {
          await present.close();
          present = await openSqliteStore(options);
          return present;
        },
        end: async () => {
          await present.close();
          remove(options.file);
        },
      };
    },
    { isSingleNode: true, shortMs: 300 },
  );
}
