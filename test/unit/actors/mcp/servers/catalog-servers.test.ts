import { expect, it } from 'vitest';
import { CatalogServers } from '../../../../../actors/mcp/servers/catalog-servers.ts';
import type { ManagedServer } from '../../../../../actors/mcp/servers/managed-server.ts';
import { ServerRegistry } from '../../../../../actors/mcp/servers/server-registry.ts';
import type { SupervisedServers } from '../../../../../actors/mcp/servers/supervised-servers.ts';
import type { Catalog } from '../../../../../config/catalog/catalog-schema.ts';

function workMs(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

/** Creating or removing a server takes 2 ms. */
function aCatalog() {
  const registry = new ServerRegistry();
  const supervised = {
    add: (id: string, _: unknown, hash: string) => {
      workMs(2);
      return { server: { id } as ManagedServer, key: id, hash, bucket: 0 };
    },
    remove: () => workMs(2),
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

/** Counts the turns of the event loop until `work` is done. */
async function turnsDuring<T>(work: Promise<T>): Promise<[result: T, turns: number]> {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const result = await work;
  isOver = true;
  return [result, turns];
}

it('a large catalog is applied in slices, between which other work runs', async () => {
  const { registry, servers } = aCatalog();
  const [{ added }, turns] = await turnsDuring(servers.apply(catalogOf(100, 'a')));
  expect(added).toHaveLength(100);
  expect(turns).toBeGreaterThan(10);
  expect(registry.all().map(({ id }) => id)).toEqual(Object.keys(catalogOf(100, 'a').servers));
  const { changed, removed } = await servers.apply(catalogOf(50, 'b'));
  expect([changed.length, removed.length, registry.all().length]).toEqual([50, 50, 50]);
});

it('many servers are removed in slices', async () => {
  const { registry, servers } = aCatalog();
  await servers.apply(catalogOf(100, 'a'));
  const [{ removed }, turns] = await turnsDuring(servers.apply(catalogOf(0, 'a')));
  expect([removed.length, registry.all().length]).toEqual([100, 0]);
  expect(turns).toBeGreaterThan(10);
});
