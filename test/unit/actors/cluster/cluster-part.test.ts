// A gateway as a member, on a real database: what the others read of it, and when.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog } from '../../../../actors/base/errors/log.ts';
import { ClusterPart } from '../../../../actors/cluster/cluster-part.ts';
import { openPostgresStore } from '../../../../actors/store/postgres/open-postgres-store.ts';
import { ConfigHash } from '../../../../config/config-hash.ts';
import { type PostgresServer, startPostgres } from '../../../fixtures/store/postgres-server.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

test('a process is found by its instance under each of its memberships, and says when it begins to stop (CLP1, CLP2)', async () => {
  const url = await server.newDatabase();
  const nodeOf = async (name: string) => {
    const { store, membership } = await openPostgresStore({
      url,
      node: { name, address: `${name}:1`, ttlMs: 1_000 },
    });
    const host = { store: { open: async () => store }, configHash: new ConfigHash(), log: silentLog };
    const part = new ClusterPart({ ...host, version: '1.2.3', node: {} });
    await part.boot();
    return { store, membership, part };
  };
  const [a, b] = [await nodeOf('a'), await nodeOf('b')];
  try {
    await b.membership.tellNow();
    expect(a.part.instance).toMatch(/^[0-9a-f]{16}$/);
    expect(b.part.instance).not.toBe(a.part.instance);
    const { instance } = a.part;
    expect(b.part.memberOf(instance)).toEqual({
      epoch: a.membership.epoch,
      name: 'a',
      address: 'a:1',
      about: { instance, version: '1.2.3', state: 'running', config_hash: new ConfigHash().hash },
    });
    expect(b.part.memberOf('0'.repeat(16))).toBeUndefined();
    await a.part.tellDraining();
    await b.membership.tellNow();
    expect(b.part.memberOf(instance)?.about.state).toBe('draining');
    await a.store.close();
    await b.membership.tellNow();
    expect(b.part.memberOf(instance)).toBeUndefined();
  } finally {
    await Promise.all([a, b].map(({ store }) => store.close()));
  }
});
