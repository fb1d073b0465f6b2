// SQLite silently ignores invalid settings, so the tests read the durability settings back.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SqliteConnection } from '../../../../../actors/store/sqlite/connection.ts';
import { newFolder } from '../../../../fixtures/new-folder.ts';

const folder = newFolder('actor-gateway-');

test('a durable connection has a write-ahead log, syncs each commit, and locks the file', () => {
  const connection = new SqliteConnection(join(folder, 'store.sqlite'));
  connection.makeDurable();
  const settings = ['journal_mode', 'synchronous', 'locking_mode', 'wal_autocheckpoint', 'temp_store'];
  expect(settings.map((name) => connection.pragma(name))).toEqual(['wal', 2, 'exclusive', 2000, 2]);
  connection.close();
});
