// Errors of a real PostgreSQL with a full disk, or with missing or newer tables.

import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { StoreFullError, StoreUnavailableError } from '../../../../../actors/base/errors/errors.ts';
import { DatabaseLostError } from '../../../../../actors/store/postgres/faults.ts';
import { openPostgresStore } from '../../../../../actors/store/postgres/open-postgres-store.ts';
import { executeOn, type PostgresServer, startPostgres } from '../../../../fixtures/store/postgres-server.ts';
import { drain, eventOf } from '../../../../fixtures/store/store-conformance.ts';

const NOTICED_MS = 5_000;
/** Larger than the free space in an existing page. */
const LARGE = 200_000;

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres(['fsync=off'], { diskMb: 32 });
});
afterAll(() => server.stop());

async function openStore() {
  const url = await server.newDatabase();
  const onRejected = vi.fn();
  const onFailed = vi.fn();
  const node = { name: 'a', address: '' };
  const { store } = await openPostgresStore({ url, node, onRejected, onFailed });
  return { url, store, onRejected, onFailed };
}

test('writes on a full database disk are rejected, and continue when the disk has space', async () => {
  const { store, onRejected, onFailed } = await openStore();
  const large = (id: string) => {
    const body = Buffer.from(Array.from({ length: LARGE }, () => Math.floor(Math.random() * 256)));
    return eventOf(id, `k/${id}`, body);
  };
  expect(await store.append([large('a')])).toMatchObject([{ outcome: 'new' }]);
  server.fillDisk();
  const rejected = store.append([large('b')]);
  await expect(rejected).rejects.toThrow(StoreFullError);
  await expect(rejected).rejects.toThrow(
    `the database at 127.0.0.1:${server.port} has no disk space (53100)`,
  );
  expect(onRejected.mock.calls[0]?.[0]).toBeInstanceOf(StoreFullError);
  expect(await store.delivery('b')).toBeUndefined();
  // A concurrent call without new data succeeds.
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
    'a newer version has changed the tables',
    'ALTER TABLE actor_gateway.mailbox RENAME COLUMN ready_at TO due_at',
  ],
])(
  'the PostgreSQL store fails permanently if %s, and reports this once, without waiting for a call',
  async (_, sql) => {
    const { url, store, onFailed, onRejected } = await openStore();
    await store.append([eventOf('a')]);
    await executeOn(url, sql);
    await vi.waitFor(() => expect(onFailed).toHaveBeenCalled(), { timeout: NOTICED_MS });
    expect(onFailed.mock.calls[0]?.[0]).toBeInstanceOf(DatabaseLostError);
    const rejected = store.claim(1, 1_000);
    await expect(rejected).rejects.toThrow(StoreUnavailableError);
    await expect(rejected).rejects.toThrow(/the database at 127\.0\.0\.1:\d+ has no tables of this version/);
    expect(onFailed).toHaveBeenCalledTimes(1);
    expect(onRejected).not.toHaveBeenCalled();
    await store.close();
  },
);
