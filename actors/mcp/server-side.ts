// The servers that the gateway runs: servers of the catalog and private servers of agents. Both share the
// limits of one factory. Only catalog servers are in the registry, so clients cannot reach servers of agents.

import type { Catalog } from '../../config/catalog/catalog-schema.ts';
import { forEachLimited } from '../base/bounds/for-each-limited.ts';
import { type GatewayError, StoppedError } from '../base/errors/errors.ts';
import { drainSupervisor } from '../base/supervision/supervision.ts';
import { WorkSlices } from '../base/time/work-slices.ts';
import { MERGED_ADDRESS, type Sessions } from './clients/sessions/sessions.ts';
import type { MakePlacedLink } from './links/make-link.ts';
import { type CatalogDifference, type CatalogProgress, CatalogServers } from './servers/catalog-servers.ts';
import { everyListKind } from './servers/lists/lists.ts';
import type { ManagedServer } from './servers/managed-server.ts';
import { type ServerAudience, ServerFactory, type ServerSurroundings } from './servers/server-factory.ts';
import type { ServerRegistry } from './servers/server-registry.ts';
import { SupervisedServers, type SupervisedServersOptions } from './servers/supervised-servers.ts';

export interface ServerSideOptions
  extends ServerSurroundings,
    Pick<SupervisedServersOptions, 'life' | 'shutdownMs' | 'entryHashes'> {
  readonly registry: ServerRegistry;
  /** Notified when a server in the registry changes. */
  readonly sessions: Sessions;
  /** Creates links to servers that run on another node; undefined outside a cluster. */
  readonly makePlaced: MakePlacedLink | undefined;
}

/**
 * Maximum number of cache files read concurrently. Files may be large, and only their parsed content is
 * bounded.
 */
const MAX_OPEN_FILES = 8;

export class ServerSide {
  readonly ofAgents: SupervisedServers;
  readonly ofCatalog: SupervisedServers;
  readonly #options: ServerSideOptions;
  readonly #factory: ServerFactory;
  readonly #catalogServers: CatalogServers;

  constructor(options: ServerSideOptions) {
    const { registry, sessions, makePlaced, log, life, shutdownMs, entryHashes } = options;
    this.#options = options;
    const factory = new ServerFactory(options);
    this.#factory = factory;
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
      onRemoved: ({ id, subscriptions }) => {
        // Later sessions, with higher numbers, belong to a new server with the same id.
        const { latestNumber } = sessions;
        return () => {
          sessions.endAllOf(id, latestNumber, `server ${id} left the catalog`);
          subscriptions.releaseAll();
        };
      },
    });
  }

  get catalogProgress(): CatalogProgress | undefined {
    return this.#catalogServers.progress;
  }

  /** Applies the changes of the catalog. */
  apply(catalog: Catalog): Promise<CatalogDifference> {
    return this.#catalogServers.apply(catalog);
  }

  /** Reads the cached lists of new servers. */
  async load({ added, changed }: CatalogDifference): Promise<void> {
    const fresh = [...added, ...changed].flatMap((id) => this.#options.registry.get(id) ?? []);
    await forEachLimited(MAX_OPEN_FILES, fresh, ({ cache }) => cache.load());
  }

  /** Notifies clients of lists that may have changed in a reload. */
  async announce({ added, changed, removed }: CatalogDifference): Promise<void> {
    const { sessions } = this.#options;
    const slices = new WorkSlices();
    for (const id of [...added, ...changed]) {
      await slices.pause();
      sessions.announce(id, everyListKind);
    }
    if (removed.length > 0) sessions.announce(MERGED_ADDRESS, everyListKind);
  }

  /** Writes the caches of the servers to their files. */
  flush(): Promise<unknown> {
    return Promise.all([...this.#allServers()].map(({ cache }) => cache.flush()));
  }

  /** Resolves when the processes of stopped and failed servers are cleaned up. */
  whenCleanedUp(): Promise<void> {
    return this.#factory.whenCleanedUp();
  }

  async drain(): Promise<void> {
    // The probes for protocol eras run before a server starts, so stopping the servers does not stop them.
    for (const { eras } of this.#allServers()) eras.kill();
    const { life } = this.#options;
    await Promise.all([
      ...[this.ofCatalog, this.ofAgents].map(({ name }) => drainSupervisor(life.find(name))),
      this.#factory.close(),
    ]);
  }

  /** Kills all processes immediately; used when the shutdown fails or times out. */
  kill(): void {
    const error = new StoppedError('the gateway was stopped immediately');
    void this.#factory.close();
    for (const { handle, pool, eras } of this.#allServers()) {
      // The handle, which accepts the calls, is closed first: a queued call would start another process.
      handle.close();
      eras.kill();
      pool.kill(error);
    }
  }

  /** Fails all calls, queued and sent, with this error. The servers keep running. */
  failCalls(error: GatewayError): void {
    for (const { handle, pool, eras } of this.#allServers()) {
      eras.kill();
      handle.failWaiting(() => true, error);
      for (const member of pool.members) member.connection.failAll(error);
    }
  }

  /** Includes servers that are still stopping. */
  *#allServers(): Iterable<ManagedServer> {
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
