// What is not moved: out of and into stores in use, into one that has anything in it, and from files that are not whole.

import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import pg from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { MoveRefusedError, StoreFileError } from '../../../../../actors/store/moved/move-errors.ts';
import { RecordReader } from '../../../../../actors/store/moved/record-file.ts';
import {
  openPostgresSource,
  openPostgresTarget,
} from '../../../../../actors/store/postgres/moved-postgres.ts';
import { openPostgresStore } from '../../../../../actors/store/postgres/open-postgres-store.ts';
import { SqliteConnection } from '../../../../../actors/store/sqlite/connection.ts';
import { openSqliteSource, openSqliteTarget } from '../../../../../actors/store/sqlite/moved-sqlite.ts';
import { runs } from '../../../../fixtures/property-runs.ts';
import { openEngineStore, storeFolder } from '../../../../fixtures/store/engine-store.ts';
import { exported, imported } from '../../../../fixtures/store/moved.ts';
import { newDatabase } from '../../../../fixtures/store/shared-postgres.ts';
import { eventOf } from '../../../../fixtures/store/store-conformance.ts';

const folder = storeFolder();
let files = 0;
const newFile = () => join(folder, `store-${++files}.db`);
const onDamage = (what: string) => expect(what).toBe('');
const node = { name: 'north', address: '' };

/** Two events, a value and a snapshot's worth of lines. */
async function smallExport(): Promise<string> {
  const file = newFile();
  const { store } = openEngineStore({ file });
  await store.append([eventOf('a:1'), eventOf('a:2', 'conversation/ü')]);
  await store.put('space', 'key', 'value');
  await store.close();
  return exported(openSqliteSource({ file, onDamage }));
}

const fileTarget = (file: string) => openSqliteTarget({ file, onDamage });

test('there is nothing to export where no store is, and nothing is made there', async () => {
  const file = newFile();
  await expect(openSqliteSource({ file, onDamage })).rejects.toThrow(MoveRefusedError);
  expect(existsSync(file)).toBe(false);
  const url = await newDatabase();
  await expect(openPostgresSource({ url })).rejects.toThrow('there is no store in the database');
});

test('a store with anything in it is not imported into, and the message says what that is', async () => {
  const text = await smallExport();
  const file = newFile();
  const url = await newDatabase();
  for (const open of [() => fileTarget(file), () => openPostgresTarget({ url })]) {
    await imported(open(), text);
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

test('a file that a store has open is neither read nor filled', async () => {
  const file = newFile();
  const { store } = openEngineStore({ file });
  for (const open of [openSqliteSource, openSqliteTarget])
    await expect(open({ file, onDamage })).rejects.toThrow('is held by another process; end that one');
  await store.close();
  await (await fileTarget(file)).close();
}, 20_000);

test('a database on which gateways work is neither read nor filled, and none can begin meanwhile (MVP1)', async () => {
  const url = await newDatabase();
  const running = await openPostgresStore({ url, node });
  for (const open of [openPostgresSource, openPostgresTarget])
    await expect(open({ url })).rejects.toThrow('gateways work on the database (north); stop them');
  await running.store.close();

  const target = await openPostgresTarget({ url });
  await expect(openPostgresSource({ url })).rejects.toThrow('it is being moved');
  await expect(openPostgresStore({ url, node, timeoutMs: 500 })).rejects.toThrow('takes too long');
  await target.close();
  await (await openPostgresStore({ url, node })).store.close();
}, 20_000);

test('an import that meets a gateway in the middle of its start is refused, or the gateway waits', async () => {
  const url = await newDatabase();
  await (await openPostgresTarget({ url })).close();
  const joining = new pg.Client({ connectionString: url });
  await joining.connect();
  // As a node does it that joins.
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
  const ends = await Promise.all([opening, joined]);
  await joining.end();
  expect([
    [expect.stringContaining('a gateway is starting on the database'), 'joined'],
    ['filled', '40P01'],
  ]).toContainEqual(ends);
}, 20_000);

describe('a file that is not as an export has written it is refused, and nothing of it is taken (MVF1, MVL1, MVS2)', () => {
  const replaced = (text: string, from: string | RegExp, to: string) => {
    const changed = text.replace(from, to);
    expect(changed).not.toBe(text);
    return changed;
  };
  const cases: readonly (readonly [what: string, change: (text: string) => string, message: string])[] = [
    ['nothing', () => '', 'the file is empty'],
    ['something else', () => 'id,key\n1,2\n', 'line 1: it is no JSON'],
    ['JSON of another program', () => '{"a":1}\n', 'line 1: the file was not made by store export'],
    [
      'one of a later version',
      (text) => replaced(text, '"version":1', '"version":2'),
      'is of version 2 of its format, here 1',
    ],
    [
      'one without its end',
      (text) => text.split('\n').slice(0, -2).join('\n').concat('\n'),
      'the rest of it is missing',
    ],
    ['one that was cut in a line', (text) => text.slice(0, -9), 'the file ends in the middle of line'],
    ['one that goes on', (text) => `${text}{}\n`, 'the file goes on after its end'],
    [
      'one whose text was changed',
      (text) => replaced(text, '"value":"value"', '"value":"other"'),
      'the file has been changed',
    ],
    ['one with a row less', (text) => replaced(text, /\{"kind":"kv".*\n/, ''), 'the file has been changed'],
    [
      'a kind that is not known',
      (text) => replaced(text, '{"kind":"kv"', '{"kind":"kw"'),
      'line 6: its kind is not known',
    ],
    [
      'a member that is not known',
      (text) => replaced(text, '{"kind":"kv"', '{"kind":"kv","x":1'),
      'line 6: kv has a member that is not known',
    ],
    [
      'a member that is missing',
      (text) => replaced(text, '"value":"value",', ''),
      'line 6: kv.value is no text',
    ],
    [
      'bytes that are no base64',
      (text) => replaced(text, /"body":"[^"]*"/, '"body":"a*b="'),
      'line 4: body.body is no base64',
    ],
    [
      'a number that is a text',
      (text) => replaced(text, '"seq":1', '"seq":"1"'),
      'line 2: delivery.seq is no count',
    ],
    [
      'a state that is not known',
      (text) => replaced(text, '"state":"queued"', '"state":"lost"'),
      'line 2: delivery.state is no state',
    ],
    [
      'a text that no store keeps',
      (text) => replaced(text, '"value":"value"', '"value":"\\u0000"'),
      'line 6: kv.value is no text',
    ],
    [
      'a row that is there twice',
      (text) => replaced(text, /(\{"kind":"kv".*\n)/, '$1$1'),
      'line 7: kv is out of its order',
    ],
    [
      'rows in another order',
      (text) => replaced(text, /(\{"kind":"body".*\n)(\{"kind":"body".*\n)/, '$2$1'),
      'line 5: body is out of its order',
    ],
    ['an id that is there twice', (text) => replaced(text, '"id":"a:2"', '"id":"a:1"'), 'lines 2 to 3:'],
  ];
  test.each(cases)('%s', async (_, change, message) => {
    const text = await smallExport();
    const file = newFile();
    const url = await newDatabase();
    for (const open of [() => fileTarget(file), () => openPostgresTarget({ url })]) {
      const refused = imported(open(), change(text));
      await expect(refused).rejects.toThrow(StoreFileError);
      await expect(refused).rejects.toThrow(message);
      // It is as empty as it was.
      await imported(open(), text);
    }
  });

  test('whatever byte was changed, and wherever it was cut', async () => {
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
          await expect(imported(fileTarget(file), changed.toString('latin1'))).rejects.toThrow(
            StoreFileError,
          );
        },
      ),
      { numRuns: runs(150) },
    );
    await imported(fileTarget(file), bytes.toString());
  });
});

test('what one engine keeps and the other does not take is said with its line, and nothing is taken', async () => {
  const file = newFile();
  const { store } = openEngineStore({ file });
  await store.append([eventOf(randomBytes(3_000).toString('base64'))]);
  await store.close();
  const url = await newDatabase();
  const refused = imported(openPostgresTarget({ url }), await exported(openSqliteSource({ file, onDamage })));
  await expect(refused).rejects.toThrow(/^lines 2 to 2: the database does not take it: index row size/);
  await (await openPostgresTarget({ url })).close();
});

test('a record that is damaged is named, and one text that is damaged is told and comes along', async () => {
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
  const told: string[] = [];
  const text = await exported(openSqliteSource({ file, onDamage: (what) => told.push(what) }));
  expect(told).toEqual(['a text in the column meta of body is not UTF-8']);
  expect(text).toContain('"meta":"a\ufffdb"');
  change('UPDATE delivery SET state = 99 WHERE seq = 2');
  await expect(exported(openSqliteSource({ file, onDamage }))).rejects.toThrow(
    'state of delivery 2 is damaged in the store',
  );
});

test('a line that is longer than any may be is not read to its end (MVF2)', async () => {
  let read = 0;
  const parts = (async function* () {
    for (; read < 1_000; read += 1) yield Buffer.alloc(100, 0x20);
  })();
  await expect(new RecordReader(parts, 1_000).head()).rejects.toThrow('line 1 is too long');
  expect(read).toBeLessThan(20);
});
