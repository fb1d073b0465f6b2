// Rejected exports and imports: stores in use, imports into a store with data, and invalid files.

import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import pg from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { StoreFileError, TransferRefusedError } from '../../../../../actors/store/export/errors.ts';
import { RecordReader } from '../../../../../actors/store/export/file-format.ts';
import {
  openPostgresSource,
  openPostgresTarget,
} from '../../../../../actors/store/postgres/export-postgres.ts';
import { openPostgresStore } from '../../../../../actors/store/postgres/open-postgres-store.ts';
import { SqliteConnection } from '../../../../../actors/store/sqlite/connection.ts';
import { openSqliteSource, openSqliteTarget } from '../../../../../actors/store/sqlite/export-sqlite.ts';
import { runs } from '../../../../fixtures/property-runs.ts';
import { openEngineStore, storeFolder } from '../../../../fixtures/store/engine-store.ts';
import { exportText, importText } from '../../../../fixtures/store/export-text.ts';
import { newDatabase } from '../../../../fixtures/store/shared-postgres.ts';
import { eventOf } from '../../../../fixtures/store/store-conformance.ts';

const folder = storeFolder();
let files = 0;
const newFile = () => join(folder, `store-${++files}.db`);
const onDamage = (what: string) => expect(what).toBe('');
const node = { name: 'north', address: '' };

/** Exports two events and a value. */
async function smallExport(): Promise<string> {
  const file = newFile();
  const { store } = openEngineStore({ file });
  await store.append([eventOf('a:1'), eventOf('a:2', 'conversation/ü')]);
  await store.put('space', 'key', 'value');
  await store.close();
  return exportText(openSqliteSource({ file, onDamage }));
}

const fileTarget = (file: string) => openSqliteTarget({ file, onDamage });

test('an export without a store is rejected, and creates nothing', async () => {
  const file = newFile();
  await expect(openSqliteSource({ file, onDamage })).rejects.toThrow(TransferRefusedError);
  expect(existsSync(file)).toBe(false);
  const url = await newDatabase();
  await expect(openPostgresSource({ url })).rejects.toThrow('the database has no store');
});

test('an import into a store with data is rejected, and the message lists the data', async () => {
  const text = await smallExport();
  const file = newFile();
  const url = await newDatabase();
  for (const open of [() => fileTarget(file), () => openPostgresTarget({ url })]) {
    await importText(open(), text);
    await expect(open()).rejects.toThrow(
      /is not empty \(2 in delivery, 2 in body, 1 in kv(, 2 in mailbox)?\)/,
    );
  }
  const leased = newFile();
  const { store } = openEngineStore({ file: leased });
  await store.lease('socket', 'a', '', 1);
  await store.close();
  await expect(fileTarget(leased)).rejects.toThrow('(1 in lease)');
});

test('a file in use by a store is neither exported nor imported', async () => {
  const file = newFile();
  const { store } = openEngineStore({ file });
  for (const open of [openSqliteSource, openSqliteTarget])
    await expect(open({ file, onDamage })).rejects.toThrow('is locked by another process; stop that process');
  await store.close();
  await (await fileTarget(file)).close();
}, 20_000);

test('a database in use is neither exported nor imported, and no gateway can start meanwhile', async () => {
  const url = await newDatabase();
  const running = await openPostgresStore({ url, node });
  for (const open of [openPostgresSource, openPostgresTarget])
    await expect(open({ url })).rejects.toThrow('gateways use the database (north); stop them');
  await running.store.close();

  const target = await openPostgresTarget({ url });
  await expect(openPostgresSource({ url })).rejects.toThrow('an export or import is running');
  await expect(openPostgresStore({ url, node, timeoutMs: 500 })).rejects.toThrow('did not respond in time');
  await target.close();
  await (await openPostgresStore({ url, node })).store.close();
}, 20_000);

test('an import during the start of a gateway is rejected, or the gateway waits', async () => {
  const url = await newDatabase();
  await (await openPostgresTarget({ url })).close();
  const joining = new pg.Client({ connectionString: url });
  await joining.connect();
  // Simulates a joining node.
  await joining.query('BEGIN');
  await joining.query('SELECT at FROM actor_gateway.clock FOR UPDATE');
  const opening = openPostgresTarget({ url }).then(
    (target) => target.close().then(() => 'filled'),
    (error: Error) => error.message,
  );
  await vi.waitFor(async () => {
    const { rows } = await joining.query(
      "SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'ExclusiveLock'",
    );
    expect(rows).toHaveLength(1);
  });
  const joined = joining.query('SELECT pg_advisory_xact_lock(1634162515, 2)').then(
    () => 'joined',
    (error: { code: string }) => error.code,
  );
  const results = await Promise.all([opening, joined]);
  await joining.end();
  expect([
    [expect.stringContaining('a gateway is starting on the database'), 'joined'],
    ['filled', '40P01'],
  ]).toContainEqual(results);
}, 20_000);

describe('an invalid export file is rejected without importing anything', () => {
  const replaced = (text: string, from: string | RegExp, to: string) => {
    const changed = text.replace(from, to);
    expect(changed).not.toBe(text);
    return changed;
  };
  const cases: readonly (readonly [what: string, change: (text: string) => string, message: string])[] = [
    ['an empty file', () => '', 'the file is empty'],
    ['a file of another format', () => 'id,key\n1,2\n', 'line 1: not JSON'],
    ['a JSON file of another program', () => '{"a":1}\n', 'line 1: the file was not written by store export'],
    [
      'a file of a later version',
      (text) => replaced(text, '"version":1', '"version":2'),
      'export format 2, expected 1',
    ],
    [
      'a file without its end',
      (text) => text.split('\n').slice(0, -2).join('\n').concat('\n'),
      'the file is truncated',
    ],
    ['a file cut inside a line', (text) => text.slice(0, -9), 'the file ends in the middle of line'],
    ['a file with text after its end', (text) => `${text}{}\n`, 'the file continues after its last line'],
    [
      'a file with a changed text',
      (text) => replaced(text, '"value":"value"', '"value":"other"'),
      'the file was changed',
    ],
    ['a file with a missing row', (text) => replaced(text, /\{"kind":"kv".*\n/, ''), 'the file was changed'],
    [
      'a row of an unknown kind',
      (text) => replaced(text, '{"kind":"kv"', '{"kind":"kw"'),
      'line 6: unknown kind',
    ],
    [
      'a row with an unknown member',
      (text) => replaced(text, '{"kind":"kv"', '{"kind":"kv","x":1'),
      'line 6: kv has an unknown member',
    ],
    [
      'a row without a member',
      (text) => replaced(text, '"value":"value",', ''),
      'line 6: kv.value is not a text',
    ],
    [
      'a row with invalid base64',
      (text) => replaced(text, /"body":"[^"]*"/, '"body":"a*b="'),
      'line 4: body.body is not a base64 text',
    ],
    [
      'a row with a number as a string',
      (text) => replaced(text, '"seq":1', '"seq":"1"'),
      'line 2: delivery.seq is not a count',
    ],
    [
      'a row with an unknown state',
      (text) => replaced(text, '"state":"queued"', '"state":"lost"'),
      'line 2: delivery.state is not a state',
    ],
    [
      'a row with a character that no store accepts',
      (text) => replaced(text, '"value":"value"', '"value":"\\u0000"'),
      'line 6: kv.value is not a text',
    ],
    [
      'a duplicate row',
      (text) => replaced(text, /(\{"kind":"kv".*\n)/, '$1$1'),
      'line 7: rows of kv are out of order',
    ],
    [
      'rows in another order',
      (text) => replaced(text, /(\{"kind":"body".*\n)(\{"kind":"body".*\n)/, '$2$1'),
      'line 5: rows of body are out of order',
    ],
    [
      'a row with too many levels',
      (text) =>
        replaced(text, '{"kind":"kv"', `{"kind":"kv","x":${'['.repeat(100_000)}${']'.repeat(100_000)}`),
      'line 6: more than 10000 values and levels',
    ],
    ['a row with a duplicate id', (text) => replaced(text, '"id":"a:2"', '"id":"a:1"'), 'lines 2 to 3:'],
  ];
  test.each(cases)('%s', async (_, change, message) => {
    const text = await smallExport();
    const file = newFile();
    const url = await newDatabase();
    for (const open of [() => fileTarget(file), () => openPostgresTarget({ url })]) {
      const refused = importText(open(), change(text));
      await expect(refused).rejects.toThrow(StoreFileError);
      await expect(refused).rejects.toThrow(message);
      // The target is still empty.
      await importText(open(), text);
    }
  });

  test('for any changed byte, and for a cut at any position', async () => {
    const bytes = Buffer.from(await smallExport());
    const file = newFile();
    await fc.assert(
      fc.asyncProperty(
        fc.nat(bytes.length - 1),
        fc.integer({ min: 1, max: 255 }),
        fc.boolean(),
        async (at, by, isCut) => {
          const changed = Buffer.from(isCut ? bytes.subarray(0, at) : bytes);
          if (!isCut) changed[at] = (changed[at] ?? 0) ^ by;
          await expect(importText(fileTarget(file), changed.toString('latin1'))).rejects.toThrow(
            StoreFileError,
          );
        },
      ),
      { numRuns: runs(150) },
    );
    await importText(fileTarget(file), bytes.toString());
  });
});

test('an import reports the line of a row that the database rejects, and imports nothing', async () => {
  const file = newFile();
  const { store } = openEngineStore({ file });
  await store.append([eventOf(randomBytes(3_000).toString('base64'))]);
  await store.close();
  const url = await newDatabase();
  const refused = importText(
    openPostgresTarget({ url }),
    await exportText(openSqliteSource({ file, onDamage })),
  );
  await expect(refused).rejects.toThrow(/^lines 2 to 2: the database rejected it: index row size/);
  await (await openPostgresTarget({ url })).close();
});

test('an export fails if a record is damaged, and names the record; damaged texts are exported with a warning', async () => {
  const file = newFile();
  const { store } = openEngineStore({ file });
  await store.append([eventOf('a:1'), eventOf('a:2')]);
  await store.close();
  const change = (sql: string) => {
    const connection = new SqliteConnection(file);
    connection.exec(sql);
    connection.close();
  };
  change("UPDATE body SET meta = CAST(x'61ff62' AS TEXT) WHERE seq = 1");
  const warnings: string[] = [];
  const text = await exportText(openSqliteSource({ file, onDamage: (what) => warnings.push(what) }));
  expect(warnings).toEqual(['text in column meta of body is not UTF-8']);
  expect(text).toContain('"meta":"a\ufffdb"');
  change('UPDATE delivery SET state = 99 WHERE seq = 2');
  await expect(exportText(openSqliteSource({ file, onDamage }))).rejects.toThrow(
    'state of delivery 2 is damaged in the store',
  );
});

test('an import does not read a line above the maximum length to its end', async () => {
  let read = 0;
  const parts = (async function* () {
    for (; read < 1_000; read += 1) yield Buffer.alloc(100, 0x20);
  })();
  await expect(new RecordReader(parts, 1_000).head()).rejects.toThrow('line 1 has more than 1000 bytes');
  expect(read).toBeLessThan(20);
});

test('an import rejects a complete line above the maximum length', async () => {
  const parts = (async function* () {
    yield Buffer.from(`${' '.repeat(1_001)}\n`);
  })();
  await expect(new RecordReader(parts, 1_000).head()).rejects.toThrow('line 1 has more than 1000 bytes');
});
