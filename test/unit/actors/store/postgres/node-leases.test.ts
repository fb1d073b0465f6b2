// Leases whose taking or release was not heard: they stand in nobody's way.

import pg from 'pg';
import { expect, test, vi } from 'vitest';
import { openPostgresStore } from '../../../../../actors/store/postgres/open-postgres-store.ts';
import { newDatabase } from '../../../../fixtures/store/shared-postgres.ts';

test('what a process took without hearing of it it may take anew, and a release is tried until it is heard (NL3)', async () => {
  const url = await newDatabase();
  const node = (name: string) => openPostgresStore({ url, node: { name, address: '', ttlMs: 20_000 } });
  const [a, b] = [await node('a'), await node('b')];
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const [ofA, ofB] = [a.store.cluster?.leases, b.store.cluster?.leases];
    await client.query(
      `INSERT INTO actor_gateway.node_lease (name, node, epoch) SELECT 'x', id, 0 FROM actor_gateway.node WHERE name = 'a'`,
    );
    expect(await ofB?.take('x')).toBeUndefined();
    const lease = await ofA?.take('x');
    expect(lease?.isHeld).toBe(true);
    expect(await ofA?.take('x')).toBeUndefined();

    await client.query('ALTER TABLE actor_gateway.node_lease RENAME TO node_lease_away');
    const released = lease?.release();
    expect(lease?.isHeld).toBe(false);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await client.query('ALTER TABLE actor_gateway.node_lease_away RENAME TO node_lease');
    await released;
    await vi.waitFor(async () => expect(await ofB?.take('x')).toBeDefined());
  } finally {
    await client.end();
    await Promise.all([a.store.close(), b.store.close()]);
  }
});
