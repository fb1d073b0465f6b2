// Lock order: transactions with common rows must not deadlock, also if the database language sorts
// differently from bytes.

import pg from 'pg';
import { expect, test } from 'vitest';
import { openPostgresStore } from '../../../../../actors/store/postgres/open-postgres-store.ts';
import { executeOn } from '../../../../fixtures/store/postgres-server.ts';
import { newDatabase } from '../../../../fixtures/store/shared-postgres.ts';
import { eventOf, resultOf } from '../../../../fixtures/store/store-conformance.ts';

/** English sorts "a" before "B". */
async function englishDatabase(): Promise<string> {
  const url = await newDatabase();
  await executeOn(
    url,
    `CREATE DATABASE english TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LC_COLLATE 'C' LC_CTYPE 'C'`,
  );
  return new URL('/english', url).href;
}

test('mailboxes are locked in the byte order of their keys', async () => {
  const url = await englishDatabase();
  const { store } = await openPostgresStore({ url, node: { name: 'a', address: '' } });
  const other = new pg.Client({ connectionString: url });
  await other.connect();
  expect((await other.query(`SELECT 'k/a' < 'k/B' AS yes`)).rows).toEqual([{ yes: true }]);
  const [first, second] = ['k/B', 'k/a'];
  await store.append([eventOf('1', first), eventOf('2', second)]);
  const turns = await store.claim(5, 60_000);
  const events = (n: number) => [eventOf(`${n} a`, second), eventOf(`${n} B`, first)];
  const actions = [
    () => store.append(events(3)),
    () => store.append(events(4), { claimMs: 60_000 }),
    () => store.renew([...turns].reverse(), 60_000),
    () => store.commit(turns.map((turn) => resultOf(turn))),
  ];
  for (const act of actions) {
    await other.query('BEGIN');
    const hold = (key: string) =>
      other.query(`SELECT key FROM actor_gateway.mailbox WHERE key = '${key}' FOR UPDATE NOWAIT`);
    await hold(first);
    const acting = act();
    const waiting = () => other.query('SELECT 1 FROM pg_locks WHERE NOT granted');
    await expect.poll(async () => (await waiting()).rowCount, { timeout: 10_000 }).toBeGreaterThan(0);
    // While a transaction is blocked on its first lock, it holds no other lock.
    expect((await hold(second)).rowCount).toBe(1);
    await other.query('ROLLBACK');
    expect(await acting).toHaveLength(2);
  }
  await other.end();
  await store.close();
});

test('an event gets its number after its mailbox is locked, so numbers increase in commit order', async () => {
  const url = await newDatabase();
  const open = async (name: string) => (await openPostgresStore({ url, node: { name, address: '' } })).store;
  const [one, two] = [await open('a'), await open('b')];
  await one.append([eventOf('first', 'k/held')]);
  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query(`SELECT FROM actor_gateway.mailbox WHERE key = 'k/held' FOR UPDATE`);
  const waiting = one.append([eventOf('free', 'k/a'), eventOf('held', 'k/held')]);
  const waitingLocks = () => holder.query('SELECT 1 FROM pg_locks WHERE NOT granted');
  await expect.poll(async () => (await waitingLocks()).rowCount, { timeout: 10_000 }).toBeGreaterThan(0);
  await two.append([eventOf('later', 'k/b')]);
  await holder.query('ROLLBACK');
  await waiting;
  const { rows } = await holder.query('SELECT id FROM actor_gateway.delivery ORDER BY seq');
  expect(rows.map(({ id }) => id)).toEqual(['first', 'later', 'free', 'held']);
  await holder.end();
  await Promise.all([one.close(), two.close()]);
});

test('a due timer is processed under the lock of its mailbox, so that it cannot collide with its cancellation', async () => {
  const url = await newDatabase();
  const { store } = await openPostgresStore({ url, node: { name: 'a', address: '' } });
  await store.append([eventOf('1', 'k/1')]);
  const timers = [{ id: 't', inMs: 0, event: eventOf('2', 'k/1') }];
  const [turn] = await store.claim(1, 60_000);
  if (turn === undefined) throw new Error('nothing was claimed');
  await store.commit([resultOf(turn, 'checkpoint', { timers })]);
  const other = new pg.Client({ connectionString: url });
  await other.connect();
  await other.query('BEGIN');
  await other.query(`SELECT key FROM actor_gateway.mailbox WHERE key = 'k/1' FOR UPDATE`);
  const claiming = store.claim(1, 60_000);
  const waiting = () => other.query('SELECT 1 FROM pg_locks WHERE NOT granted');
  await expect.poll(async () => (await waiting()).rowCount, { timeout: 10_000 }).toBeGreaterThan(0);
  expect((await other.query(`DELETE FROM actor_gateway.timer WHERE owner = 'k/1'`)).rowCount).toBe(1);
  await other.query('COMMIT');
  expect(await claiming).toEqual([]);
  // The cancelled timer created no event.
  expect(await store.commit([resultOf(turn)])).toMatchObject([{ isCurrent: true, next: undefined }]);
  expect(await store.counts()).toMatchObject({ queued: 0, running: 0 });
  await other.end();
  await store.close();
});
