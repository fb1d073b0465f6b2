// A real PostgreSQL whose disk is full, and one whose tables are gone or are another version's: what callers and the gateway hear.

import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { StoreFullError, StoreUnavailableError } from '../../../../../actors/base/errors/errors.ts';
import { DatabaseLostError } from '../../../../../actors/store/postgres/faults.ts';
import { openPostgresStore } from '../../../../../actors/store/postgres/open-postgres-store.ts';
import { executeOn, type PostgresServer, startPostgres } from '../../../../fixtures/store/postgres-server.ts';
import { drain, eventOf } from '../../../../fixtures/store/store-conformance.ts';

const NOTICED_MS = 5_000;
/** A page takes what bytes are left to it without a new one. */
const LARGE = 200_000;

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres(['fsync=off'], { diskMb: 32 });
});
afterAll(() => server.stop());

async function opened() {
  const url = await server.newDatabase();
  const onRefusedFull = vi.fn();
  const onFailed = vi.fn();
  const node = { name: 'a', address: '' };
  const { store } = await openPostgresStore({ url, node, onRefusedFull, onFailed });
  return { url, store, onRefusedFull, onFailed };
}

test('on a full disk what needs room is refused as such, and goes on when there is some; nothing is acknowledged meanwhile', async () => {
  const { store, onRefusedFull, onFailed } = await opened();
  const large = (id: string) => {
    const body = Buffer.from(Array.from({ length: LARGE }, () => Math.floor(Math.random() * 256)));
    return eventOf(id, `k/${id}`, body);
  };
  expect(await store.append([large('a')])).toMatchObject([{ outcome: 'new' }]);
  server.fillDisk();
  const refused = store.append([large('b')]);
  await expect(refused).rejects.toThrow(StoreFullError);
  await expect(refused).rejects.toThrow('the database has no room on its disk (53100)');
  expect(onRefusedFull.mock.calls[0]?.[0]).toBeInstanceOf(StoreFullError);
  expect(await store.delivery('b')).toBeUndefined();
  // Of calls that come together one that needs no more room is taken.
  const [whole, known] = await Promise.allSettled([store.append([large('c')]), store.append([large('a')])]);
  expect([whole.status, known.status]).toEqual(['rejected', 'fulfilled']);
  server.freeDisk();
  expect(await store.append([large('b')])).toMatchObject([{ outcome: 'new' }]);
  expect(await drain(store)).toEqual(['a', 'b']);
  expect(onFailed).not.toHaveBeenCalled();
  await store.close();
});

test.each([
  ['the schema is dropped', 'DROP SCHEMA actor_gateway CASCADE'],
  [
    'another version has changed the tables',
    'ALTER TABLE actor_gateway.mailbox RENAME COLUMN ready_at TO due_at',
  ],
])('where %s the store is lost for good, and says so once without being asked', async (_, sql) => {
  const { url, store, onFailed, onRefusedFull } = await opened();
  await store.append([eventOf('a')]);
  await executeOn(url, sql);
  await vi.waitFor(() => expect(onFailed).toHaveBeenCalled(), { timeout: NOTICED_MS });
  expect(onFailed.mock.calls[0]?.[0]).toBeInstanceOf(DatabaseLostError);
  const refused = store.claim(1, 1_000);
  await expect(refused).rejects.toThrow(StoreUnavailableError);
  await expect(refused).rejects.toThrow('the database has no tables of this version any more');
  expect(onFailed).toHaveBeenCalledTimes(1);
  expect(onRefusedFull).not.toHaveBeenCalled();
  await store.close();
});
