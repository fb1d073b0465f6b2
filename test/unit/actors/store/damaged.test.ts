// What a disk, or somebody, has done to the files of the store is said: at the start of its log, later of a record.

import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { expect, test } from 'vitest';
import { StoreUnavailableError } from '../../../../actors/errors.ts';
import { logDamage } from '../../../../actors/store/log-check.ts';
import { openSqliteStore } from '../../../../actors/store/sqlite-store.ts';
import { openEngineStore, storeFolder } from '../../../fixtures/engine-store.ts';
import { eventOf, resultOf } from '../../../fixtures/store-conformance.ts';
import { storeWorkerUrl } from '../../../fixtures/store-worker.ts';

/** A store as kill -9 leaves it: 50 events in its log, and none of them in the file itself. */
async function killedStore(): Promise<string> {
  const folder = storeFolder();
  const [live, file] = [join(folder, 'live.db'), join(folder, 'store.db')];
  const { store } = openEngineStore({ file: live });
  for (let n = 0; n < 50; n += 1) await store.append([eventOf(`e:${n}`, `k/${n}`)]);
  for (const suffix of ['', '-wal']) copyFileSync(live + suffix, file + suffix);
  await store.close();
  return file;
}

async function opened(file: string) {
  const said: string[] = [];
  const store = await openSqliteStore({
    file,
    workerUrl: storeWorkerUrl(),
    onDamage: (what) => said.push(what),
  });
  const { queued } = await store.counts();
  await store.close();
  return { said, queued };
}

test('a log that is whole says nothing, also where its last frame was being written', async () => {
  const file = await killedStore();
  expect(logDamage(file)).toBeUndefined();
  const log = readFileSync(`${file}-wal`);
  writeFileSync(`${file}-wal`, log.subarray(0, log.length - 1_000));
  expect(logDamage(file)).toBeUndefined();
  expect((await opened(file)).said).toEqual([]);
});

test('one that is damaged in its middle is said with numbers, and kept', async () => {
  const file = await killedStore();
  const log = readFileSync(`${file}-wal`);
  log.fill(0x2a, log.length / 2, log.length / 2 + 8);
  writeFileSync(`${file}-wal`, log);
  const { said, queued } = await opened(file);
  expect(queued).toBeLessThan(50);
  expect(queued).toBeGreaterThan(0);
  expect(said).toEqual([
    expect.stringMatching(/[0-9]+ pages are whole, and the [0-9]+ after them, with [0-9]+ transactions/),
  ]);
  expect(said[0]).toContain(`${file}-wal.damaged`);
  expect(existsSync(`${file}-wal.damaged`)).toBe(true);
  expect(readFileSync(`${file}-wal.damaged`).equals(log)).toBe(true);
  expect((await opened(file)).said).toEqual([]);
});

test.each([0, 16, 24])('so is one whose head is damaged at byte %i', async (at) => {
  const file = await killedStore();
  const log = readFileSync(`${file}-wal`);
  log.fill(0x2a, at, at + 4);
  writeFileSync(`${file}-wal`, log);
  expect((await opened(file)).said).toEqual([
    expect.stringMatching(/ 0 pages are whole, and the [0-9]+ after them/),
  ]);
});

test('a record that no version wrote is told as damage of the file, and the others can be read', async () => {
  const file = join(storeFolder(), 'store.db');
  const before = openEngineStore({ file });
  await before.store.append([eventOf('a:1', 'k/1'), eventOf('a:2', 'k/2'), eventOf('a:3', 'k/3')]);
  for (const turn of await before.store.claim(3, 60_000)) await before.store.commit([resultOf(turn)]);
  await before.store.close();
  const db = new Database(file);
  db.exec(
    "UPDATE delivery SET state = 54 WHERE id = 'a:1'; UPDATE delivery SET failures = '{[' WHERE id = 'a:2'",
  );
  db.close();
  const { store } = openEngineStore({ file });
  const refusal = await store.deliveries({ limit: 10 }).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(StoreUnavailableError);
  expect((refusal as Error).message).toMatch(/store.db is damaged; keep a copy, and restore/);
  expect((await store.delivery('a:2'))?.failures).toMatchObject([
    { note: expect.stringContaining('damaged') },
  ]);
  expect(await store.delivery('a:3')).toMatchObject({ state: 'done', failures: [] });
  await store.close();
});
