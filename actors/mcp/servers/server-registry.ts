// The servers of the catalog by id, for everything that looks one up. catalog-servers.ts alone changes them.

import type { Catalog } from '../../../config/catalog/catalog-schema.ts';
import { UnknownServerError } from '../../base/errors/errors.ts';
import type { CallOwner } from './calls/call-owner.ts';
import type { ManagedServer } from './managed-server.ts';

export class ServerRegistry {
  /** Increases when the servers or a cache change. Written only here. */
  revision = 0;
  readonly #byId = new Map<string, ManagedServer>();
  #catalog: Catalog = { servers: {} };
  #order: readonly ManagedServer[] = [];

  get(id: string): ManagedServer | undefined {
    return this.#byId.get(id);
  }

  /** Returns the server of that id. Throws UnknownServerError. */
  require(id: string): ManagedServer {
    const server = this.#byId.get(id);
    if (server !== undefined) return server;
    throw new UnknownServerError(
      `there is no server ${JSON.stringify(id.slice(0, 64))} in the catalog; GET /servers lists them`,
    );
  }

  /** In the order of the catalog; another array after each change. */
  all(): readonly ManagedServer[] {
    return this.#order;
  }

  tagsOf(id: string): readonly string[] {
    return this.#catalog.servers[id]?.tags ?? [];
  }

  noteLearned(): void {
    this.revision += 1;
  }

  /** Releases everything that servers keep for a client that has left. `target` is its only server, if it has one. */
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

  /** This catalog is in use from now on, and its servers are set. */
  use(catalog: Catalog): void {
    this.#catalog = catalog;
    const before = this.#order;
    this.#order = Object.keys(catalog.servers).flatMap((id) => this.get(id) ?? []);
    const isSame =
      this.#order.length === before.length && this.#order.every((server, at) => server === before[at]);
    if (!isSame) this.revision += 1;
  }
}
