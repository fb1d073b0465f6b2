// Query plans of frequent statements. The server may plan a statement while tables are empty, and then scan
// large tables later.

import pg from 'pg';
import { expect, test } from 'vitest';
import { openPostgresStore } from '../../../../../actors/store/postgres/open-postgres-store.ts';
import { newDatabase } from '../../../../fixtures/store/shared-postgres.ts';
import { eventOf, resultOf } from '../../../../fixtures/store/store-conformance.ts';

const ROUNDS = 150;
const TOGETHER = 20;
/** Waiting events of other conversations. */
const WAITING = 2_000;
/** Rows read per event, by indexes and scans: currently 13. */
const READ_FOR_ONE = 30;

test('events are appended, handled and ended without reading records of other events', async () => {
  const url = await newDatabase();
  const { store } = await openPostgresStore({ url, node: { name: 'a', address: '' } });
  const appendAll = (of: string | number, count: number, claimMs?: number) =>
    // Two events per key: the first event's turn also handles the second.
    store.append(
      Array.from({ length: count }, (_, n) => eventOf(`${of}/${n}`, `k/${of}/${n >> 1}`)),
      claimMs === undefined ? {} : { claimMs },
    );
  for (let round = 0; round < ROUNDS; round += 1) {
    const turns = (await appendAll(round, TOGETHER, 60_000)).flatMap(({ turn }) => turn ?? []);
    expect(turns).toHaveLength(TOGETHER / 2);
    const committed = await store.commit(turns.map((turn) => resultOf(turn)));
    const nexts = committed.flatMap(({ next }, n) => {
      const turn = turns[n];
      return next === undefined || turn === undefined ? [] : resultOf({ ...turn, event: next });
    });
    expect(nexts).toHaveLength(TOGETHER / 2);
    await store.commit(nexts);
    // By now the server has planned for small tables.
    if (round === 10) await appendAll('waiting', WAITING);
  }
  await store.close();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(
    `SELECT coalesce(sum(seq_tup_read), 0)::int + (SELECT sum(idx_tup_read)::int FROM pg_stat_user_indexes) AS read FROM pg_stat_user_tables`,
  );
  await client.end();
  expect(rows[0].read / (ROUNDS * TOGETHER)).toBeLessThan(READ_FOR_ONE);
});
