// The registry of servers: those of the catalog, by id, and what a reload does with them.
//
// SR1  every enabled server has exactly one supervised actor, asleep or not.
// SR2  a changed server is a new one beside the old: the old takes no more calls, finishes those it has, and ends.

import type { Catalog } from '../../../config/catalog/catalog-schema.ts';
import { entryHash } from '../../../config/catalog/entry-hash.ts';
import type { ManagedServer } from './managed-server.ts';
import {
  type SupervisedServer,
  SupervisedServers,
  type SupervisedServersOptions,
} from './supervised-servers.ts';

/** Ids by what a reload did with them. */
export interface CatalogDifference {
  readonly added: string[];
  readonly changed: string[];
  readonly removed: string[];
  readonly unchanged: string[];
}

export interface ServerRegistryOptions extends Omit<SupervisedServersOptions, 'name'> {
  /** A server has left the catalog. What this gives is called once it has ended; there may be another of its id by then. */
  onLeft(server: ManagedServer): () => void;
}

export const SERVERS = 'servers';

export class ServerRegistry {
  readonly supervised: SupervisedServers;
  readonly #options: ServerRegistryOptions;
  readonly #placed = new Map<string, SupervisedServer>();
  #order: ManagedServer[] = [];

  constructor(options: ServerRegistryOptions) {
    this.#options = options;
    this.supervised = new SupervisedServers({ ...options, name: SERVERS });
  }

  get(id: string): ManagedServer | undefined {
    return this.#placed.get(id)?.server;
  }

  /** In the order of the catalog. */
  all(): readonly ManagedServer[] {
    return this.#order;
  }

  /** Makes the registry what the catalog says, touching only what differs. */
  apply(catalog: Catalog): CatalogDifference {
    const difference: CatalogDifference = { added: [], changed: [], removed: [], unchanged: [] };
    for (const [id, placed] of [...this.#placed]) {
      if (catalog.servers[id] !== undefined) continue;
      difference.removed.push(id);
      this.#placed.delete(id);
      this.supervised.remove(placed, undefined, () => this.#options.onLeft(placed.server));
    }
    for (const [id, entry] of Object.entries(catalog.servers)) {
      const hash = entryHash(entry);
      const placed = this.#placed.get(id);
      if (placed?.hash === hash) {
        difference.unchanged.push(id);
        continue;
      }
      difference[placed === undefined ? 'added' : 'changed'].push(id);
      const successor = this.supervised.place(id, entry, hash, placed?.server);
      this.#placed.set(id, successor);
      if (placed !== undefined) this.supervised.remove(placed, successor.server);
    }
    this.#order = Object.keys(catalog.servers).flatMap((id) => this.get(id) ?? []);
    return difference;
  }
}
