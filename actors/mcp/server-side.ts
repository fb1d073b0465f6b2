// The servers that the gateway runs: those of the catalog, and those of agents. They share one factory with its bounds. Only
// servers of the catalog are in the registry: no client reaches the others.

import type { Catalog } from '../../config/catalog/catalog-schema.ts';
import { forEachLimited } from '../base/bounds/for-each-limited.ts';
import { type GatewayError, StoppedError } from '../base/errors/errors.ts';
import { drainSupervisor } from '../base/supervision/supervision.ts';
import { EVERY_SERVER, type Sessions } from './clients/sessions/sessions.ts';
import type { MakePlacedLink } from './links/make-link.ts';
import { type CatalogDifference, CatalogServers } from './servers/catalog-servers.ts';
import { everyListKind } from './servers/lists/lists.ts';
import type { ManagedServer } from './servers/managed-server.ts';
import { type ServerAudience, ServerFactory, type ServerSurroundings } from './servers/server-factory.ts';
import type { ServerRegistry } from './servers/server-registry.ts';
import { SupervisedServers, type SupervisedServersOptions } from './servers/supervised-servers.ts';

export interface ServerSideOptions
  extends ServerSurroundings,
    Pick<SupervisedServersOptions, 'life' | 'shutdownMs' | 'entryHashes'> {
  readonly registry: ServerRegistry;
  /** Hear of changes of the servers in the registry. */
  readonly sessions: Sessions;
  /** Undefined without a cluster. */
  readonly makePlaced: MakePlacedLink | undefined;
}

/** Cache files read at a time: they may be large, and only their content in memory is bounded. */
const FILES_AT_A_TIME = 8;

export class ServerSide {
  readonly ofAgents: SupervisedServers;
  readonly ofCatalog: SupervisedServers;
  readonly #options: ServerSideOptions;
  readonly #catalogServers: CatalogServers;

  constructor(options: ServerSideOptions) {
    const { registry, sessions, makePlaced, log, life, shutdownMs, entryHashes } = options;
    this.#options = options;
    const factory = new ServerFactory(options);
    const supervision = { log, life, shutdownMs, entryHashes };
    this.ofCatalog = new SupervisedServers({
      ...supervision,
      name: 'servers',
      make: (spec) => factory.make(spec, audienceOf(spec.id, registry, sessions), makePlaced),
    });
    this.ofAgents = new SupervisedServers({
      ...supervision,
      name: 'agent servers',
      make: (spec) => factory.make(spec),
    });
    this.#catalogServers = new CatalogServers({
      registry,
      supervised: this.ofCatalog,
      onLeft: ({ id, subscriptions }) => {
        const { youngest } = sessions;
        return () => {
          sessions.endAllOf(id, youngest, `server ${id} left the catalog`);
          subscriptions.releaseAll();
        };
      },
    });
  }

  /** Applies the changes of the catalog. */
  apply(catalog: Catalog): CatalogDifference {
    return this.#catalogServers.apply(catalog);
  }

  /** Reads the cached lists of new servers. */
  async load({ added, changed }: CatalogDifference): Promise<void> {
    const fresh = [...added, ...changed].flatMap((id) => this.#options.registry.get(id) ?? []);
    await forEachLimited(FILES_AT_A_TIME, fresh, ({ cache }) => cache.load());
  }

  /** Notifies clients of the lists that a reload has changed. */
  announce({ added, changed, removed }: CatalogDifference): void {
    const { sessions } = this.#options;
    for (const id of [...added, ...changed]) sessions.announce(id, everyListKind);
    if (removed.length > 0) sessions.announce(EVERY_SERVER, everyListKind);
  }

  /** Writes the caches of the servers to their files. */
  flush(): Promise<unknown> {
    return Promise.all([...this.#everyone()].map(({ cache }) => cache.flush()));
  }

  async drain(): Promise<void> {
    // The request for the eras of a server runs before its actor has a process to end.
    for (const { eras } of this.#everyone()) eras.kill();
    const { life } = this.#options;
    await Promise.all([this.ofCatalog, this.ofAgents].map(({ name }) => drainSupervisor(life.find(name))));
  }

  /** The last resort: kills every process at once. */
  kill(): void {
    const error = new StoppedError('the gateway was stopped at once');
    for (const { handle, pool, eras } of this.#everyone()) {
      // First, or a call that waits would have another process started.
      handle.close();
      eras.kill();
      pool.kill(error);
    }
  }

  /** Ends every call, waiting or sent, with the same error; the servers stay as they are. */
  failCalls(error: GatewayError): void {
    for (const { handle, pool, eras } of this.#everyone()) {
      eras.kill();
      handle.failWaiting(() => true, error);
      for (const member of pool.members) member.connection.failAll(error);
    }
  }

  /** Includes servers that are ending. */
  *#everyone(): Iterable<ManagedServer> {
    yield* this.ofCatalog.everyone();
    yield* this.ofAgents.everyone();
  }
}

function audienceOf(id: string, registry: ServerRegistry, sessions: Sessions): ServerAudience {
  return {
    isWatched: () => sessions.isWatching(id),
    onLists: (kinds, isFirst) => sessions.announce(id, kinds, isFirst),
    announce: (kinds) => sessions.announceAt(id, kinds),
    onLearned: () => registry.noteLearned(),
  };
}
