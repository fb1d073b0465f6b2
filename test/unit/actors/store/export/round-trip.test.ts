// Rows of all kinds are exported from an engine, imported into the other, and back.
// Invariant S11 is in actors/store/store.ts.

import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import pg from 'pg';
import { expect, test } from 'vitest';
import type { StoredEvent } from '../../../../../actors/store/event.ts';
import { excludedTables, exportedTables } from '../../../../../actors/store/export/tables.ts';
import {
  openPostgresSource,
  openPostgresTarget,
} from '../../../../../actors/store/postgres/export-postgres.ts';
import { openPostgresStore } from '../../../../../actors/store/postgres/open-postgres-store.ts';
import { SqliteConnection } from '../../../../../actors/store/sqlite/connection.ts';
import { openSqliteSource, openSqliteTarget } from '../../../../../actors/store/sqlite/export-sqlite.ts';
import type { Store, Turn } from '../../../../../actors/store/store.ts';
import { openSqliteStore } from '../../../../../actors/store/worker/sqlite-store.ts';
import { storeFolder } from '../../../../fixtures/store/engine-store.ts';
import { exportText, importText, linesOf, rowsOf } from '../../../../fixtures/store/export-text.ts';
import { fill, MANY } from '../../../../fixtures/store/filled-store.ts';
import { newDatabase } from '../../../../fixtures/store/shared-postgres.ts';
import { commitOne, eventOf, LONG_MS, resultOf } from '../../../../fixtures/store/store-conformance.ts';
import { storeWorkerUrl } from '../../../../fixtures/store/store-worker.ts';

const folder = storeFolder();
let files = 0;
const newFile = () => join(folder, `store-${++files}.db`);
const onDamage = (damage: string) => expect(damage).toBe('');
const openFile = (file: string) => openSqliteStore({ file, workerUrl: storeWorkerUrl() });
const openDatabase = async (url: string) =>
  (await openPostgresStore({ url, node: { name: 'a', address: '' } })).store;

/** Closes the store and returns its exported text. */
const engines = {
  sqlite: {
    place: async () => newFile(),
    open: openFile,
    export: (place: string) => exportText(openSqliteSource({ file: place, onDamage })),
    import: (place: string, text: string) => importText(openSqliteTarget({ file: place, onDamage }), text),
  },
  postgres: {
    place: async () => newDatabase(),
    open: openDatabase,
    export: (place: string) => exportText(openPostgresSource({ url: place })),
    import: (place: string, text: string) => importText(openPostgresTarget({ url: place }), text),
  },
};

async function exportFilledStore(engine: (typeof engines)['sqlite']): Promise<string> {
  const place = await engine.place();
  let store = await engine.open(place);
  store = await fill(store, async () => {
    await store.close();
    store = await engine.open(place);
    return store;
  });
  await store.close();
  return place;
}

/** Longer than an export and import on a slow machine. */
const TOLERANCE_MS = 60_000;

function expectSame(one: string, other: string): void {
  const [first, second] = [rowsOf(one), rowsOf(other)];
  expect(second.rows).toEqual(first.rows);
  for (const [at, remaining] of first.remaining.entries())
    expect(Math.abs((second.remaining[at] ?? 0) - remaining)).toBeLessThan(TOLERANCE_MS);
  expect(linesOf(other).at(-1)?.counts).toEqual(linesOf(one).at(-1)?.counts);
  const { counter, last_seq } = linesOf(one)[0] ?? {};
  expect(linesOf(other)[0]).toMatchObject({ counter, last_seq });
}

test('every row survives the export from a file to PostgreSQL, back, and to another database', async () => {
  const { sqlite, postgres } = engines;
  const text = await sqlite.export(await exportFilledStore(sqlite));
  const positions = [
    await postgres.place(),
    await sqlite.place(),
    await postgres.place(),
    await postgres.place(),
  ];
  let last = text;
  for (const [at, engine] of [postgres, sqlite, postgres, postgres].entries()) {
    const place = positions[at] ?? '';
    await engine.import(place, last);
    last = await engine.export(place);
    expectSame(text, last);
  }
  const counts = linesOf(text).at(-1)?.counts as Record<string, number>;
  expect(Object.values(counts).every((count) => count > 0)).toBe(true);
});

test('every row survives the export from a database to a file and back', async () => {
  const { sqlite, postgres } = engines;
  const text = await postgres.export(await exportFilledStore(postgres));
  const [file, url] = [await sqlite.place(), await postgres.place()];
  await sqlite.import(file, text);
  expectSame(text, await sqlite.export(file));
  await postgres.import(url, text);
  expectSame(text, await postgres.export(url));
});

test('each table and column of both engines is exported, or listed as omitted', async () => {
  const file = newFile();
  await (await openFile(file)).close();
  const connection = new SqliteConnection(file);
  const tables = connection
    .prepare<[string, string]>(
      "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'",
    )
    .all([]);
  connection.close();
  const url = await newDatabase();
  await (await openDatabase(url)).close();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query({
    text: "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'actor_gateway'",
    rowMode: 'array',
  });
  await client.end();
  const moved = exportedTables.flatMap(({ name, columns }) =>
    columns.map((column) => `${name}.${column.name}`),
  );
  for (const found of [tables, rows as [string, string][]])
    expect(
      found
        .filter(([table]) => !excludedTables.includes(table))
        .map((names) => names.join('.'))
        .sort(),
    ).toEqual([...moved].sort());
});

test('after an import, waiting events keep their order, and running events count an attempt and a crash (S11)', async () => {
  const place = await exportFilledStore(engines.sqlite);
  const text = await engines.sqlite.export(place);
  const url = await newDatabase();
  await engines.postgres.import(url, text);
  const returned: Record<string, string[]>[] = [];
  for (const store of [await openFile(place), await openDatabase(url)]) {
    expect(await store.append([eventOf('done', 'conversation/done')])).toMatchObject([
      { outcome: 'duplicate' },
    ]);
    expect(await store.delivery('checkpoint')).toMatchObject({ state: 'retrying', crashes: 1, attempts: 1 });
    expect(await store.holders()).toEqual(['place 1', 'trigger 1']);
    expect(await store.release('trigger 1')).toBe(1);
    expect(await store.get('triggers', 'paused')).toMatchObject({ value: '"t"' });
    expect(await store.get('sessions', 'over')).toBeUndefined();
    expect(await store.lastTick('daily')).toBe(2_000);
    // Owner rows belong to a process and are not exported.
    if (returned.length > 0) expect(await store.owner('socket')).toBeUndefined();
    expect((await store.steps('parked')).map(({ text: row }) => row)).toEqual(['{"did":"a"}', '{"did":"b"}']);
    const event = { ...eventOf('decision', 'conversation/parked'), wakes: 'word' };
    expect(await store.decide('ask:1', { state: 'approved', decision: '{}', emit: [event] })).toMatchObject({
      isFirst: true,
    });
    expect(await store.decide('ask:2', { state: 'approved', decision: '{}', emit: [] })).toMatchObject({
      isFirst: false,
      approval: { state: 'denied', decision: '{"by":"me"}' },
    });
    returned.push(await allOf(store));
    await store.close();
  }
  expect(returned[1]).toEqual(returned[0]);
  expect(returned[0]?.['conversation/many/3']).toEqual(
    Array.from({ length: MANY / 7 }, (_, n) => `many ${7 * n + 3} 1 body of many ${7 * n + 3}`),
  );
  expect(returned[0]?.['conversation/held']?.[0]).toContain('held 1');
});

/** Completes all events that can be claimed after the pauses for crashes. Returns their ids by key. */
async function allOf(store: Store): Promise<Record<string, string[]>> {
  const returned: Record<string, string[]> = {};
  const until = performance.now() + 20_000;
  for (let turns: readonly Turn[] = []; performance.now() < until; turns = await store.claim(50, LONG_MS)) {
    for (const turn of turns)
      for (let event: StoredEvent | undefined = turn.event; event !== undefined; ) {
        const { id, attempt, body, state, woken } = event;
        returned[turn.key] ??= [];
        const more = [state, woken?.id, turn.snapshot].filter((word) => word !== undefined);
        returned[turn.key]?.push([id, attempt, Buffer.from(body).toString('latin1'), ...more].join(' '));
        event = (await commitOne(store, resultOf(turn, 'done', {}, event))).next;
      }
    if (turns.length > 0) continue;
    if (returned['conversation/crashed'] !== undefined && returned['conversation/checkpoint'] !== undefined)
      break;
    await elapse(50);
  }
  return returned;
}
