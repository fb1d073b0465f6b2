// Random operations on a store that each restart moves: the store is exported, and imported as another store.
// It behaves as if it had only been restarted, and keeps the rules S1 to S16 (actors/store/store.ts).

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openPostgresSource, openPostgresTarget } from '../../../../actors/store/postgres/export-postgres.ts';
import { openPostgresStore } from '../../../../actors/store/postgres/open-postgres-store.ts';
import { openSqliteSource, openSqliteTarget } from '../../../../actors/store/sqlite/export-sqlite.ts';
import { runs } from '../../../fixtures/property-runs.ts';
import { openEngineStore, storeFolder } from '../../../fixtures/store/engine-store.ts';
import { exportText, importText } from '../../../fixtures/store/export-text.ts';
import { newDatabase } from '../../../fixtures/store/shared-postgres.ts';
import { Model } from '../../../fixtures/store/store-model.ts';
import {
  MAX_WAITING,
  ownClockSteps,
  RETENTION_MS,
  testClockSteps,
  type World,
} from '../../../fixtures/store/store-steps.ts';

const folder = storeFolder();
let fileCount = 0;
const newFile = () => join(folder, `store-${++fileCount}.db`);
const onDamage = (damage: string) => expect(damage).toBe('');

test('an event store that is exported and imported behaves as after a restart, under any operations (S1–S16)', async () => {
  let moveCount = 0;
  await fc.assert(
    fc.asyncProperty(fc.commands(testClockSteps, { maxCommands: 100, size: 'max' }), async (steps) => {
      let file = newFile();
      const options = { retentionMs: RETENTION_MS, maxWaiting: MAX_WAITING };
      const model = new Model();
      let opened = openEngineStore({ ...options, file, now: model.now });
      const reopen = async () => {
        await opened.store.close();
        const now = () => model.now;
        let text = await exportText(openSqliteSource({ file, onDamage, now }));
        rmSync(file);
        file = newFile();
        // Only every third move passes through a PostgreSQL database, because this takes longer.
        if (moveCount % 3 === 0) {
          const url = await newDatabase();
          await importText(openPostgresTarget({ url, now }), text);
          text = await exportText(openPostgresSource({ url, now }));
        }
        moveCount += 1;
        // Imports the text in parts of 70 bytes, so that rows are divided.
        await importText(openSqliteTarget({ file, onDamage, now }), text, 70);
        opened = openEngineStore({ ...options, file, now: model.now });
        return opened.store;
      };
      const advance = (ms: number) => opened.advance(ms);
      const setClock = (byMs: number) => opened.setClock(byMs);
      const world: World = { model, store: opened.store, turns: [], advance, setClock, reopen };
      try {
        await fc.asyncModelRun(() => ({ model, real: world }), steps);
      } finally {
        await opened.store.close();
        rmSync(file, { force: true });
      }
    }),
    { numRuns: runs(60) },
  );
  // The runs contain enough restarts.
  expect(moveCount).toBeGreaterThan(20);
}, 240_000);

test('an event store imported into a PostgreSQL database behaves as after a restart, under any operations', async () => {
  await fc.assert(
    fc.asyncProperty(fc.commands(ownClockSteps, { maxCommands: 60, size: 'max' }), async (steps) => {
      const open = async (url: string) =>
        (await openPostgresStore({ url, maxWaiting: MAX_WAITING, node: { name: 'a', address: '' } })).store;
      let url = await newDatabase();
      let store = await open(url);
      let moveCount = 0;
      const reopen = async () => {
        await store.close();
        let text = await exportText(openPostgresSource({ url }));
        // Every second move passes through a file.
        if (moveCount % 2 === 0) {
          const file = newFile();
          await importText(openSqliteTarget({ file, onDamage }), text);
          text = await exportText(openSqliteSource({ file, onDamage }));
          rmSync(file);
        }
        moveCount += 1;
        url = await newDatabase();
        await importText(openPostgresTarget({ url }), text);
        store = await open(url);
        return store;
      };
      const model = new Model();
      // The model does not know the clock of the database, so every waiting event may be due.
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
    }),
    { numRuns: runs(15) },
  );
}, 240_000);
