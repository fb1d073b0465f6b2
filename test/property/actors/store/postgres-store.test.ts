// Random orders of everything one can do to a store, on a real PostgreSQL and against the model that the embedded engine is held
// against as well.

import fc from 'fast-check';
import { test } from 'vitest';
import { openPostgresStore } from '../../../../actors/store/postgres/open-postgres-store.ts';
import { runs } from '../../../fixtures/property-runs.ts';
import { newDatabase } from '../../../fixtures/store/shared-postgres.ts';
import { Model } from '../../../fixtures/store/store-model.ts';
import { MAX_WAITING, timelessSteps, type World } from '../../../fixtures/store/store-steps.ts';

const property = fc.asyncProperty(
  fc.commands(timelessSteps, { maxCommands: 60, size: 'max' }),
  async (steps) => {
    const url = await newDatabase();
    // However slow the machine is, it stays a member: what it holds is its own until it ends.
    const node = { name: 'a', address: '', ttlMs: 60_000 };
    const options = { url, maxWaiting: MAX_WAITING, node };
    let { store } = await openPostgresStore(options);
    const reopen = async () => {
      await store.close();
      ({ store } = await openPostgresStore(options));
      return store;
    };
    const model = new Model();
    const latest = Number.POSITIVE_INFINITY;
    const world: World = { model, store, turns: [], advance: () => {}, setClock: () => {}, reopen, latest };
    try {
      await fc.asyncModelRun(() => ({ model, real: world }), steps);
    } finally {
      await store.close();
    }
  },
);

test('whatever is done to the store on PostgreSQL in whatever order, it is in the state the contract says', async () => {
  await fc.assert(property, { numRuns: runs(15) });
}, 240_000);

test.each([
  ['an id that came twice in one call, under two keys', -900142966, '0'],
  ['what a commit had emitted, which the bound did not count', 1049601940, '7'],
  ['one that was known, and woken in the same call', -1845352199, '874'],
  ['one that came twice before what wakes it', 927528560, '1167'],
  ['one that is known and may not be claimed, before one that may', -1920155328, '10'],
])('and so it is where it was not: %s', async (_, seed, path) => {
  await fc.assert(property, { seed, path, numRuns: 1, endOnFailure: true });
});
