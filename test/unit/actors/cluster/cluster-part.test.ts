// Information that a gateway publishes as a cluster member, on a real database.

import { expect, test } from 'vitest';
import { silentLog } from '../../../../actors/base/errors/log.ts';
import { ClusterPart } from '../../../../actors/cluster/cluster-part.ts';
import { GatewayNode } from '../../../../actors/gateway/node.ts';
import { openPostgresStore } from '../../../../actors/store/postgres/open-postgres-store.ts';
import { configHash } from '../../../../config/config-hash.ts';
import { newDatabase } from '../../../fixtures/store/shared-postgres.ts';

/** Starts a cluster member on the database. */
async function nodeAt(url: string, name: string) {
  const { store, membership } = await openPostgresStore({
    url,
    node: { name, address: `${name}:1`, ttlMs: 1_000 },
  });
  const host = { store: { open: async () => store }, configHash: 'c0ffee', log: silentLog };
  const part = await ClusterPart.join({ ...host, version: '1.2.3', node: {} });
  return { store, membership, part };
}

test('other nodes find a node by its instance id until it leaves, and see that it is draining', async () => {
  const url = await newDatabase();
  const [a, b] = [await nodeAt(url, 'a'), await nodeAt(url, 'b')];
  try {
    await b.membership.publishNow();
    expect(a.part.instance).toMatch(/^[0-9a-f]{16}$/);
    expect(b.part.instance).not.toBe(a.part.instance);
    const { instance } = a.part;
    expect(b.part.memberOf(instance)).toEqual({
      epoch: a.membership.epoch,
      name: 'a',
      address: 'a:1',
      about: { instance, version: '1.2.3', state: 'running', config_hash: 'c0ffee' },
    });
    expect(b.part.memberOf('0'.repeat(16))).toBeUndefined();
    await a.part.publishDraining();
    await b.membership.publishNow();
    expect(b.part.memberOf(instance)?.about.state).toBe('draining');
    await a.store.close();
    await b.membership.publishNow();
    expect(b.part.memberOf(instance)).toBeUndefined();
  } finally {
    await Promise.all([a, b].map(({ store }) => store.close()));
  }
});

test('other nodes see a new configuration hash only after a reload that changes the configuration', async () => {
  const url = await newDatabase();
  const [a, b] = [await nodeAt(url, 'a'), await nodeAt(url, 'b')];
  try {
    const node = new GatewayNode({
      config: { node: {} },
      version: '1.2.3',
      digests: { catalog: 'one' },
      cluster: a.part,
      life: { isEnding: false },
    });
    const hashAtOther = async () => {
      await a.membership.publishNow();
      await b.membership.publishNow();
      return b.part.memberOf(a.part.instance)?.about.config_hash;
    };
    node.use({ catalog: 'one' });
    expect(await hashAtOther()).toBe('c0ffee');
    node.use({ catalog: 'two' });
    expect(await hashAtOther()).toBe(node.configHash);
    expect(node.configHash).toBe(configHash({ catalog: 'two' }));
  } finally {
    await Promise.all([a, b].map(({ store }) => store.close()));
  }
});
