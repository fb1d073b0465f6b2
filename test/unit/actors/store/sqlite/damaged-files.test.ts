// Damaged store files: a damaged log is reported at the start, a damaged record when it is read.

import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { expect, test } from 'vitest';
import { StoreUnavailableError } from '../../../../../actors/base/errors/errors.ts';
import { logDamage } from '../../../../../actors/store/sqlite/log-check.ts';
import { openSqliteStore } from '../../../../../actors/store/worker/sqlite-store.ts';
import { openEngineStore, storeFolder } from '../../../../fixtures/store/engine-store.ts';
import { eventOf, resultOf } from '../../../../fixtures/store/store-conformance.ts';
import { storeWorkerUrl } from '../../../../fixtures/store/store-worker.ts';

/** Creates the files of a killed process: 50 events in the write-ahead log, no events in the main file. */
async function killedStore(): Promise<string> {
  const folder = storeFolder();
  const [live, file] = [join(folder, 'live.db'), join(folder, 'store.db')];
  const { store } = openEngineStore({ file: live });
  for (let n = 0; n < 50; n += 1) await store.append([eventOf(`e:${n}`, `k/${n}`)]);
  for (const suffix of ['', '-wal']) copyFileSync(live + suffix, file + suffix);
  await store.close();
  return file;
}

async function openStore(file: string) {
  const warnings: string[] = [];
  const store = await openSqliteStore({
    file,
    workerUrl: storeWorkerUrl(),
    onDamage: (warning) => warnings.push(warning),
  });
  const { queued } = await store.counts();
  await store.close();
  return { warnings, queued };
}

test('an intact write-ahead log is not reported, even if its last frame is incomplete', async () => {
  const file = await killedStore();
  expect(logDamage(file)).toBeUndefined();
  const log = readFileSync(`${file}-wal`);
  writeFileSync(`${file}-wal`, log.subarray(0, log.length - 1_000));
  expect(logDamage(file)).toBeUndefined();
  expect((await openStore(file)).warnings).toEqual([]);
});

test('a write-ahead log damaged in its middle is reported with the numbers of lost pages, and a copy is kept', async () => {
  const file = await killedStore();
  const log = readFileSync(`${file}-wal`);
  log.fill(0x2a, log.length / 2, log.length / 2 + 8);
  writeFileSync(`${file}-wal`, log);
  const { warnings, queued } = await openStore(file);
  expect(queued).toBeLessThan(50);
  expect(queued).toBeGreaterThan(0);
  expect(warnings).toEqual([
    expect.stringMatching(
      /[0-9]+ intact pages; [0-9]+ pages after them are lost, with at least [0-9]+ transactions/,
    ),
  ]);
  expect(warnings[0]).toContain(`${file}-wal.damaged`);
  expect(existsSync(`${file}-wal.damaged`)).toBe(true);
  expect(readFileSync(`${file}-wal.damaged`).equals(log)).toBe(true);
  expect((await openStore(file)).warnings).toEqual([]);
});

test.each([0, 0.001, 0.5, 0.99])(
  'a write-ahead log with only zeros after %d of its length is reported',
  async (part) => {
    const file = await killedStore();
    const log = readFileSync(`${file}-wal`);
    writeFileSync(`${file}-wal`, log.fill(0, Math.floor(log.length * part)));
    expect((await openStore(file)).warnings).toEqual([
      expect.stringMatching(/intact pages; [0-9]+ pages after them are lost/),
    ]);
  },
);

test('frames of older write-ahead logs are not reported as damage', async () => {
  const folder = storeFolder();
  const [live, file] = [join(folder, 'live.db'), join(folder, 'store.db')];
  const { store } = openEngineStore({ file: live });
  const saltOf = () => readFileSync(`${live}-wal`).toString('hex', 16, 24);
  const add = (n: number) => store.append([eventOf(`e:${n}`, `k/${n}`)]);
  await add(0);
  const salt = saltOf();
  for (let n = 1; n < 2_000 && saltOf() === salt; n += 1) await add(n);
  for (let n = 2_000; n < 2_010; n += 1) await add(n);
  expect(saltOf()).not.toBe(salt);
  for (const suffix of ['', '-wal']) copyFileSync(live + suffix, file + suffix);
  await store.close();
  expect(logDamage(file)).toBeUndefined();
});

test.each([0, 16, 24])(
  'a header of the write-ahead log that is damaged at byte %i is reported',
  async (at) => {
    const file = await killedStore();
    const log = readFileSync(`${file}-wal`);
    log.fill(0x2a, at, at + 4);
    writeFileSync(`${file}-wal`, log);
    expect((await openStore(file)).warnings).toEqual([
      expect.stringMatching(/ 0 intact pages; [0-9]+ pages after them are lost/),
    ]);
  },
);

/** Creates a store with waiting and completed events, then changes it with SQL. */
async function changedStore(
  waiting: readonly string[],
  done: readonly string[],
  sql: string,
): Promise<string> {
  const file = join(storeFolder(), 'store.db');
  const { store } = openEngineStore({ file });
  for (const id of done) await store.append([eventOf(id, `k/${id}`)]);
  for (const turn of await store.claim(10, 60_000))
    await store.commit([resultOf(turn, 'done', { note: 'n' })]);
  for (const id of waiting) await store.append([eventOf(id, `k/${id}`)]);
  await store.close();
  const db = new Database(file);
  db.exec(sql);
  db.close();
  return file;
}

async function opening(file: string) {
  const warnings: string[] = [];
  const onDamagedRecord = (warning: string) => warnings.push(warning);
  const store = await openSqliteStore({ file, workerUrl: storeWorkerUrl(), onDamagedRecord });
  return { warnings, store };
}

test('a damaged delivery record is omitted from lists and logged, and reading it alone fails as damaged', async () => {
  const file = await changedStore(
    [],
    ['a:1', 'a:2', 'a:3'],
    "UPDATE delivery SET state = 54 WHERE id = 'a:1'; UPDATE delivery SET failures = '{[' WHERE id = 'a:2'",
  );
  const { warnings, store } = await opening(file);
  for (let lists = 0; lists < 2; lists += 1)
    expect((await store.deliveries({ limit: 10 })).map(({ id }) => id)).toEqual(['a:3', 'a:2']);
  const first = await store.deliveryPage({ limit: 2 });
  expect(await store.deliveryPage({ limit: 2, beforeSeq: first.beforeSeq ?? 0 })).toMatchObject({
    deliveries: [],
  });
  expect(warnings).toEqual(['delivery a:1 is not listed: a delivery has an unknown state']);
  const refusal = await store.delivery('a:1').catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(StoreUnavailableError);
  expect((refusal as Error).message).toMatch(/store.db is damaged; keep a copy, and restore/);
  expect((await store.delivery('a:2'))?.failures).toMatchObject([
    { note: expect.stringContaining('damaged') },
  ]);
  expect(await store.delivery('a:3')).toMatchObject({ state: 'done', failures: [] });
  await store.close();
});

test('damaged texts are read as far as possible and reported; other texts are unchanged', async () => {
  const file = await changedStore(
    ['b:1', 'b:2', 'b:3'],
    ['a:1'],
    `UPDATE delivery SET note = CAST(x'6eff' AS TEXT), failures = CAST(x'ff' AS TEXT) WHERE id = 'a:1';
     UPDATE delivery SET key = CAST(x'ff' AS TEXT) WHERE id = 'b:1';
     UPDATE body SET meta = CAST(x'7b80' AS TEXT) WHERE seq = (SELECT seq FROM delivery WHERE id = 'b:2');
     UPDATE delivery SET id = CAST(x'ff623a32' AS TEXT), trace = CAST(x'74ff' AS TEXT) WHERE id = 'b:2'`,
  );
  const { warnings, store } = await opening(file);
  for (let lists = 0; lists < 2; lists += 1)
    expect((await store.deliveries({ limit: 10 })).map(({ id, note }) => [id, note])).toEqual([
      ['b:3', undefined],
      ['\ufffdb:2', undefined],
      ['b:1', undefined],
      ['a:1', 'n\ufffd'],
    ]);
  const turns = await store.claim(10, 60_000);
  expect(turns.map(({ event: { id, meta } }) => [id, meta])).toEqual([
    ['\ufffdb:2', '{\ufffd'],
    ['b:3', '{"of":"b:3"}'],
  ]);
  await store.commit(turns.map((turn) => resultOf(turn)));
  expect((await store.delivery('b:3'))?.state).toBe('done');
  // The key of the event cannot be read. The event stays queued and does not block other events.
  expect(await store.claim(10, 60_000)).toEqual([]);
  expect(await store.counts()).toMatchObject({ queued: 1 });
  const named = (table: string, columns: readonly string[]) =>
    columns.map((column) => `text in column ${column} of ${table} is not UTF-8`);
  expect([...warnings].sort()).toEqual(
    [...named('body', ['meta']), ...named('delivery', ['failures', 'id', 'key', 'note', 'trace'])].sort(),
  );
  await store.close();
});
