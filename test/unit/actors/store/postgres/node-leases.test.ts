// A lost response to the acquisition or release of a lease does not block any node.

import pg from 'pg';
import { expect, test, vi } from 'vitest';
import { openPostgresStore } from '../../../../../actors/store/postgres/open-postgres-store.ts';
import { newDatabase } from '../../../../fixtures/store/shared-postgres.ts';

test('a cluster node can acquire a lease again if the first response was lost, and retries to release it', async () => {
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
    expect(await ofB?.acquire('x')).toBeUndefined();
    const lease = await ofA?.acquire('x');
    expect(lease?.isHeld).toBe(true);
    expect(await ofA?.acquire('x')).toBeUndefined();

    await client.query('ALTER TABLE actor_gateway.node_lease RENAME TO node_lease_away');
    const released = lease?.release();
    expect(lease?.isHeld).toBe(false);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await client.query('ALTER TABLE actor_gateway.node_lease_away RENAME TO node_lease');
    await released;
    await vi.waitFor(async () => expect(await ofB?.acquire('x')).toBeDefined());
  } finally {
    await client.end();
    await Promise.all([a.store.close(), b.store.close()]);
  }
});
