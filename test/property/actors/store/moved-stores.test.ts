// Random orders of everything one can do to a store, where each new start is one in another place: the store has been moved through a
// database and back into a new file meanwhile. It behaves as if it had only been opened again.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openPostgresSource, openPostgresTarget } from '../../../../actors/store/postgres/moved-postgres.ts';
import { openPostgresStore } from '../../../../actors/store/postgres/open-postgres-store.ts';
import { openSqliteSource, openSqliteTarget } from '../../../../actors/store/sqlite/moved-sqlite.ts';
import { runs } from '../../../fixtures/property-runs.ts';
import { openEngineStore, storeFolder } from '../../../fixtures/store/engine-store.ts';
import { exported, imported } from '../../../fixtures/store/moved.ts';
import { newDatabase } from '../../../fixtures/store/shared-postgres.ts';
import { Model } from '../../../fixtures/store/store-model.ts';
import {
  exactSteps,
  MAX_WAITING,
  RETENTION_MS,
  timelessSteps,
  type World,
} from '../../../fixtures/store/store-steps.ts';

const folder = storeFolder();
let files = 0;
const newFile = () => join(folder, `store-${++files}.db`);
const onDamage = (what: string) => expect(what).toBe('');

test('a store that was moved goes on as after any other start, whatever was done to it in whatever order (S1–S16)', async () => {
  let moves = 0;
  await fc.assert(
    fc.asyncProperty(fc.commands(exactSteps, { maxCommands: 100, size: 'max' }), async (steps) => {
      let file = newFile();
      const options = { retentionMs: RETENTION_MS, maxWaiting: MAX_WAITING };
      const model = new Model();
      let opened = openEngineStore({ ...options, file, now: model.now });
      const reopen = async () => {
        await opened.store.close();
        const now = () => model.now;
        let text = await exported(openSqliteSource({ file, onDamage, now }));
        rmSync(file);
        file = newFile();
        // Each way in its turn: a database takes longer.
        if (moves % 3 === 0) {
          const url = await newDatabase();
          await imported(openPostgresTarget({ url, now }), text);
          text = await exported(openPostgresSource({ url, now }));
        }
        moves += 1;
        await imported(openSqliteTarget({ file, onDamage, now }), text, 70);
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
  expect(moves).toBeGreaterThan(20);
}, 240_000);

test('and so it goes on in a database that it was moved into', async () => {
  await fc.assert(
    fc.asyncProperty(fc.commands(timelessSteps, { maxCommands: 60, size: 'max' }), async (steps) => {
      const open = async (url: string) =>
        (await openPostgresStore({ url, maxWaiting: MAX_WAITING, node: { name: 'a', address: '' } })).store;
      let url = await newDatabase();
      let store = await open(url);
      let moves = 0;
      const reopen = async () => {
        await store.close();
        let text = await exported(openPostgresSource({ url }));
        if (moves % 2 === 0) {
          const file = newFile();
          await imported(openSqliteTarget({ file, onDamage }), text);
          text = await exported(openSqliteSource({ file, onDamage }));
          rmSync(file);
        }
        moves += 1;
        url = await newDatabase();
        await imported(openPostgresTarget({ url }), text);
        store = await open(url);
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
    }),
    { numRuns: runs(15) },
  );
}, 240_000);
