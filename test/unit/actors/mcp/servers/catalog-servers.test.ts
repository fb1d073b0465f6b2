import { expect, it } from 'vitest';
import { CatalogServers } from '../../../../../actors/mcp/servers/catalog-servers.ts';
import type { ManagedServer } from '../../../../../actors/mcp/servers/managed-server.ts';
import { ServerRegistry } from '../../../../../actors/mcp/servers/server-registry.ts';
import type { SupervisedServers } from '../../../../../actors/mcp/servers/supervised-servers.ts';
import type { Catalog } from '../../../../../config/catalog/catalog-schema.ts';

/** Creating a server takes 2 ms. */
function aCatalog() {
  const registry = new ServerRegistry();
  const supervised = {
    add: (id: string, _: unknown, hash: string) => {
      for (const end = performance.now() + 2; performance.now() < end; );
      return { server: { id } as ManagedServer, key: id, hash, bucket: 0 };
    },
    remove: () => {},
  } as unknown as SupervisedServers;
  const servers = new CatalogServers({ registry, supervised, onRemoved: () => () => {} });
  return { registry, servers };
}

const catalogOf = (count: number, version: string) =>
  ({
    servers: Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`s${index}`, { command: 'true', args: [version] }]),
    ),
  }) as unknown as Catalog;

it('a large catalog is applied in slices, between which other work runs', async () => {
  const { registry, servers } = aCatalog();
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  expect((await servers.apply(catalogOf(100, 'a'))).added).toHaveLength(100);
  expect(turns).toBeGreaterThan(10);
  isOver = true;
  expect(registry.all().map(({ id }) => id)).toEqual(Object.keys(catalogOf(100, 'a').servers));
  const { changed, removed } = await servers.apply(catalogOf(50, 'b'));
  expect([changed.length, removed.length, registry.all().length]).toEqual([50, 50, 50]);
});
