// The servers of the catalog by id. Changed by catalog-servers.ts only.

import type { Catalog } from '../../../config/catalog/catalog-schema.ts';
import { suggest } from '../../../config/reader/suggest.ts';
import { UnknownServerError } from '../../base/errors/errors.ts';
import type { CallOwner } from './calls/owner.ts';
import type { ManagedServer } from './managed-server.ts';

/** Number of ids that are compared with an unknown one. Bounds the cost per request. */
const MAX_COMPARED = 200;

export class ServerRegistry {
  /** Increases when the servers or their caches change. Merged lists with an older number are outdated. */
  revision = 0;
  readonly #byId = new Map<string, ManagedServer>();
  #catalog: Catalog = { servers: {} };
  #order: readonly ManagedServer[] = [];

  get(id: string): ManagedServer | undefined {
    return this.#byId.get(id);
  }

  /** Returns the server with this id. Throws UnknownServerError. */
  require(id: string): ManagedServer {
    const server = this.#byId.get(id);
    if (server !== undefined) return server;
    const similar = suggest(id, [...this.#byId.keys()].slice(0, MAX_COMPARED));
    const advice =
      similar === undefined ? 'GET /servers lists the available servers' : `did you mean ${similar}?`;
    throw new UnknownServerError(
      `there is no server ${JSON.stringify(id.slice(0, 64))} in the catalog; ${advice}`,
    );
  }

  /** Servers in catalog order; changes produce a new array. */
  all(): readonly ManagedServer[] {
    return this.#order;
  }

  tagsOf(id: string): readonly string[] {
    return this.#catalog.servers[id]?.tags ?? [];
  }

  /** Called when cached data of a server has changed. */
  noteLearned(): void {
    this.revision += 1;
  }

  /**
   * Releases the servers' resources for a disconnected client. `target` is its only server, if it has one.
   */
  release(client: CallOwner & { readonly target: string | undefined }): void {
    if (client.target === undefined) for (const server of this.#order) server.release(client);
    else this.get(client.target)?.release(client);
  }

  set(id: string, server: ManagedServer): void {
    this.#byId.set(id, server);
  }

  delete(id: string): void {
    this.#byId.delete(id);
  }

  /** Sets the current catalog. Call it after `set` and `delete`. */
  use(catalog: Catalog): void {
    this.#catalog = catalog;
    const before = this.#order;
    this.#order = Object.keys(catalog.servers).flatMap((id) => this.get(id) ?? []);
    const isSame =
      this.#order.length === before.length && this.#order.every((server, at) => server === before[at]);
    if (!isSame) this.revision += 1;
  }
}
