// Applies the catalog to the registry at startup and on reloads. Every enabled server has exactly one
// supervised actor, which runs its state machine. A changed server gets a new actor; the old actor accepts no
// calls, completes its running calls, and stops.

import type { Catalog } from '../../../config/catalog/catalog-schema.ts';
import { entryHash } from '../../../config/catalog/entry-hash.ts';
import { WorkSlices } from '../../base/time/work-slices.ts';
import type { ManagedServer } from './managed-server.ts';
import type { ServerRegistry } from './server-registry.ts';
import type { SupervisedServer, SupervisedServers } from './supervised-servers.ts';

/** Server ids by reload outcome. */
export interface CatalogDifference {
  readonly added: string[];
  readonly changed: string[];
  readonly removed: string[];
  readonly unchanged: string[];
}

/** Progress of a running `apply`, in servers of the catalog. */
export interface CatalogProgress {
  readonly applied: number;
  readonly total: number;
}

export interface CatalogServersOptions {
  readonly registry: ServerRegistry;
  readonly supervised: SupervisedServers;
  /**
   * Called when a server is removed from the catalog. The returned function runs after the server has
   * stopped. A new server may then have the same id.
   */
  onRemoved(server: ManagedServer): () => void;
}

export class CatalogServers {
  readonly #options: CatalogServersOptions;
  readonly #servers = new Map<string, SupervisedServer>();
  #progress: CatalogProgress | undefined;

  constructor(options: CatalogServersOptions) {
    this.#options = options;
  }

  /** Undefined unless `apply` runs. */
  get progress(): CatalogProgress | undefined {
    return this.#progress;
  }

  /**
   * Applies the changes of the catalog in slices, between which other work runs: thousands of servers need
   * seconds. Unchanged servers are not touched. Must not be called while a previous call runs.
   */
  async apply(catalog: Catalog): Promise<CatalogDifference> {
    const { registry, supervised, onRemoved } = this.#options;
    const difference: CatalogDifference = { added: [], changed: [], removed: [], unchanged: [] };
    const slices = new WorkSlices();
    for (const [id, current] of [...this.#servers]) {
      await slices.pause();
      if (catalog.servers[id] !== undefined) continue;
      difference.removed.push(id);
      this.#servers.delete(id);
      registry.delete(id);
      // `remove` calls `onRemoved` now, and the function that it returns after the stop.
      supervised.remove(current, undefined, () => onRemoved(current.server));
    }
    const entries = Object.entries(catalog.servers);
    for (const [at, [id, entry]] of entries.entries()) {
      await slices.pause();
      this.#progress = { applied: at, total: entries.length };
      const hash = entryHash(entry);
      const current = this.#servers.get(id);
      if (current?.hash === hash) {
        difference.unchanged.push(id);
        continue;
      }
      difference[current === undefined ? 'added' : 'changed'].push(id);
      const successor = supervised.add(id, entry, hash, current?.server);
      this.#servers.set(id, successor);
      registry.set(id, successor.server);
      if (current !== undefined) supervised.remove(current, successor.server);
    }
    registry.use(catalog);
    this.#progress = undefined;
    return difference;
  }
}
