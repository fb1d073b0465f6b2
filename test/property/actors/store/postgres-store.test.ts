// Random operations on the store on a real PostgreSQL, compared with the model that also describes the
// embedded engine. The operations, the model and its invariants are in test/fixtures/store.

import fc from 'fast-check';
import { test } from 'vitest';
import { openPostgresStore } from '../../../../actors/store/postgres/open-postgres-store.ts';
import { runs } from '../../../fixtures/property-runs.ts';
import { newDatabase } from '../../../fixtures/store/shared-postgres.ts';
import { Model } from '../../../fixtures/store/store-model.ts';
import { MAX_WAITING, ownClockSteps, type World } from '../../../fixtures/store/store-steps.ts';

const property = fc.asyncProperty(
  fc.commands(ownClockSteps, { maxCommands: 60, size: 'max' }),
  async (steps) => {
    // Every run has a new database.
    const url = await newDatabase();
    // Remains a member of the cluster on a slow machine, so that its claims (rights to handle keys) stay
    // valid.
    const node = { name: 'a', address: '', ttlMs: 60_000 };
    const options = { url, maxWaiting: MAX_WAITING, node };
    let { store } = await openPostgresStore(options);
    const reopen = async () => {
      await store.close();
      ({ store } = await openPostgresStore(options));
      return store;
    };
    const model = new Model();
    // The store has its own clock, which the model does not know. With an infinite latest time, every waiting
    // event may be due, and the model accepts its claim.
    const latestTime = Number.POSITIVE_INFINITY;
    const world: World = {
      model,
      store,
      turns: [],
      advance: () => {},
      setClock: () => {},
      reopen,
      latestTime,
    };
    try {
      await fc.asyncModelRun(() => ({ model, real: world }), steps);
    } finally {
      await store.close();
    }
  },
);

test('the store on PostgreSQL matches its contract for any operations', async () => {
  await fc.assert(property, { numRuns: runs(15) });
}, 240_000);

// Title, seed and path of fast-check.
test.each([
  ['a duplicate id in one call, under two keys', -900142966, '0'],
  ['events emitted by a commit that the limit did not count', 1049601940, '7'],
  ['a stored event woken in the same call', -1845352199, '874'],
  ['a duplicate event before its waker', 927528560, '1167'],
  ['a stored event that must wait, appended before an event that may be claimed', -1920155328, '10'],
])(
  'the store on PostgreSQL matches its contract for the operations of an earlier failure: %s',
  async (_, seed, path) => {
    await fc.assert(property, { seed, path, numRuns: 1, endOnFailure: true });
  },
);
