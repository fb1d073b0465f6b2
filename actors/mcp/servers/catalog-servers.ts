// Makes the servers in the registry those of the catalog, at the start and after each reload.
//
// SR1  every enabled server has exactly one supervised actor, asleep or not.
// SR2  a changed server is a new one beside the old: the old takes no more calls, finishes those it has, and ends.

import type { Catalog } from '../../../config/catalog/catalog-schema.ts';
import { entryHash } from '../../../config/catalog/entry-hash.ts';
import type { ManagedServer } from './managed-server.ts';
import type { ServerRegistry } from './server-registry.ts';
import type { SupervisedServer, SupervisedServers } from './supervised-servers.ts';

/** Ids of servers by the outcome of a reload. */
export interface CatalogDifference {
  readonly added: string[];
  readonly changed: string[];
  readonly removed: string[];
  readonly unchanged: string[];
}

export interface CatalogServersOptions {
  readonly registry: ServerRegistry;
  readonly supervised: SupervisedServers;
  /** Handles a server that has left the catalog. The returned function runs after its end, when a successor may have its id. */
  onLeft(server: ManagedServer): () => void;
}

export class CatalogServers {
  readonly #options: CatalogServersOptions;
  readonly #placed = new Map<string, SupervisedServer>();

  constructor(options: CatalogServersOptions) {
    this.#options = options;
  }

  /** Applies the changes of the catalog; other servers stay untouched. */
  apply(catalog: Catalog): CatalogDifference {
    const { registry, supervised, onLeft } = this.#options;
    const difference: CatalogDifference = { added: [], changed: [], removed: [], unchanged: [] };
    for (const [id, placed] of [...this.#placed]) {
      if (catalog.servers[id] !== undefined) continue;
      difference.removed.push(id);
      this.#placed.delete(id);
      registry.delete(id);
      supervised.remove(placed, undefined, () => onLeft(placed.server));
    }
    for (const [id, entry] of Object.entries(catalog.servers)) {
      const hash = entryHash(entry);
      const placed = this.#placed.get(id);
      if (placed?.hash === hash) {
        difference.unchanged.push(id);
        continue;
      }
      difference[placed === undefined ? 'added' : 'changed'].push(id);
      const successor = supervised.place(id, entry, hash, placed?.server);
      this.#placed.set(id, successor);
      registry.set(id, successor.server);
      if (placed !== undefined) supervised.remove(placed, successor.server);
    }
    registry.use(catalog);
    return difference;
  }
}
