// Random operations on the embedded store, compared with a model (test/fixtures/store/store-model.ts). The
// engine runs with a simulated clock, and the store in a worker thread with the real clock.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'vitest';
import { openSqliteStore } from '../../../../actors/store/worker/sqlite-store.ts';
import { runs } from '../../../fixtures/property-runs.ts';
import { openEngineStore, storeFolder } from '../../../fixtures/store/engine-store.ts';
import { Model } from '../../../fixtures/store/store-model.ts';
import {
  MAX_PARKED,
  MAX_WAITING,
  ownClockSteps,
  RETENTION_MS,
  steppedClockSteps,
  testClockSteps,
  type World,
} from '../../../fixtures/store/store-steps.ts';
import { storeWorkerUrl } from '../../../fixtures/store/store-worker.ts';

const folder = storeFolder();
let fileCount = 0;
const newFile = () => join(folder, `store-${++fileCount}.db`);

function remove(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
}

/**
 * Runs random steps on an engine, and compares it with the model. With `rehearses`, each transaction fails
 * once first.
 */
async function checkEngine(rehearses: boolean, kinds: typeof testClockSteps, numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.commands(kinds, { maxCommands: 100, size: 'max' }), async (steps) => {
      const limits = { maxWaiting: MAX_WAITING, maxParked: MAX_PARKED };
      const options = { file: newFile(), retentionMs: RETENTION_MS, ...limits, rehearses };
      const model = new Model();
      let opened = openEngineStore({ ...options, now: model.now });
      const reopen = async () => {
        await opened.store.close();
        opened = openEngineStore({ ...options, now: model.now });
        return opened.store;
      };
      const advance = (ms: number) => opened.advance(ms);
      const setClock = (byMs: number) => opened.setClock(byMs);
      // The steps collect turns (claimed events), and commit their results later.
      const world: World = { model, store: opened.store, turns: [], advance, setClock, reopen, ...limits };
      try {
        await fc.asyncModelRun(() => ({ model, real: world }), steps);
      } finally {
        await opened.store.close();
        remove(options.file);
      }
    }),
    { numRuns },
  );
}

test('the SQLite event store behaves like its reference model under any operations', async () => {
  await checkEngine(false, testClockSteps, runs(60));
});

test('the SQLite event store behaves like its reference model if each transaction fails once before it succeeds', async () => {
  await checkEngine(true, testClockSteps, runs(60));
});

test('the SQLite event store behaves like its reference model if the clock is set forward and back', async () => {
  await checkEngine(true, steppedClockSteps, runs(40));
});

test('the event store in a worker thread behaves like its reference model under any operations', async () => {
  await fc.assert(
    fc.asyncProperty(fc.commands(ownClockSteps, { maxCommands: 60, size: 'max' }), async (steps) => {
      const options = { file: newFile(), maxWaiting: MAX_WAITING, workerUrl: storeWorkerUrl() };
      let store = await openSqliteStore(options);
      const reopen = async () => {
        await store.close();
        store = await openSqliteStore(options);
        return store;
      };
      const model = new Model();
      // The worker reads the system clock, which the model does not know. With an infinite latest time, every
      // waiting event may be due, and the model accepts its claim.
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
        remove(options.file);
      }
    }),
    { numRuns: runs(15) },
  );
});
