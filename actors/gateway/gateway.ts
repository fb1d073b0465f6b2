// The gateway without a front end: its life cycle, the MCP side, the store, and its place in a cluster. Users receive the part
// that they need, and front ends are parts of the life cycle (src/http, src/stdio).
//
// Parts are constructed in start order and receive earlier parts.

import type { Catalog } from '../../config/catalog/catalog-schema.ts';
import { type ConfigPrints, configHash } from '../../config/config-hash.ts';
import type { GatewayConfig } from '../../config/gateway-file/gateway-schema.ts';
import type { ProfileEntries } from '../../config/gateway-file/profile-schema.ts';
import { supervisorMachine } from '../../machines/supervisor.ts';
import type { Log } from '../base/errors/log.ts';
import { Redactor } from '../base/errors/redact.ts';
import { guarded } from '../base/supervision/guarded.ts';
import type { ClusterPart, ClusterPartOptions } from '../cluster/cluster-part.ts';
import { McpSide } from '../mcp/mcp-side.ts';
import type { CatalogDifference } from '../mcp/servers/catalog-servers.ts';
import { keptLog } from '../mcp/servers/lines/kept-log.ts';
import { RecentLines } from '../mcp/servers/lines/recent-lines.ts';
import type { ManagedServer } from '../mcp/servers/managed-server.ts';
import { StateFolder } from '../state/state-folder.ts';
import { type OpenStore, StorePart } from '../store/store-part.ts';
import { GatewayNode } from './gateway-node.ts';
import { type Life, REAP_MS } from './life.ts';

/** The parts of a gateway that a cluster needs. */
export type ClusterHost = Pick<ClusterPartOptions, 'store' | 'configHash' | 'log'>;

export interface GatewayOptions {
  /** Boots and drains the parts. */
  readonly life: Life;
  readonly config: GatewayConfig;
  readonly catalog: Catalog;
  /** Values that must never be shown. */
  readonly secrets: readonly string[];
  /** Redacts the log as well, and receives the secrets. @default one of its own */
  readonly redactor?: Redactor;
  readonly log: Log;
  readonly version: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /**
   * The state folder: `own` takes it for this process alone, `shared` lives beside its owner and others like itself,
   * `none` keeps nothing there, for a catalog that starts no process. @default 'own'
   */
  readonly state?: 'own' | 'shared' | 'none';
  /** Opens the store when a part needs it; without it there is none. The folder of the store belongs to this process. */
  readonly openStore?: OpenStore | undefined;
  /** Makes this process a node of a cluster, where the store is shared with other gateways. */
  readonly joinCluster?: ((host: ClusterHost) => Promise<ClusterPart>) | undefined;
  /** Digests of the configuration files, by which nodes are compared. */
  readonly prints?: Partial<ConfigPrints> | undefined;
}

type GatewayParts = Omit<Gateway, 'stop' | 'reload'>;

export class Gateway {
  readonly config: GatewayConfig;
  readonly version: string;
  readonly log: Log;
  readonly redactor: Redactor;
  readonly life: Life;
  readonly mcp: McpSide;
  /** Opened by the first part that needs it. */
  readonly store: StorePart;
  readonly node: GatewayNode;

  /** Boots the parts of the gateway. Call it within `life.start`. */
  static async boot(options: GatewayOptions): Promise<Gateway> {
    const { life, config, version, catalog, environment, joinCluster, prints = {} } = options;
    const redactor = options.redactor ?? new Redactor([]);
    redactor.add(...options.secrets);
    const lines = new RecentLines();
    const log = keptLog(options.log, lines, redactor);
    const entryHashes = new Map<ManagedServer, string>();
    const stateFolder = await life.boot('state', () =>
      StateFolder.open({
        stateDir: config.state_dir,
        kind: options.state ?? 'own',
        listenAddr: config.listen_addr,
        ...{ environment, log },
        usedHashes: () => new Set(entryHashes.values()),
      }),
    );
    const store = await life.boot(
      'store',
      async () =>
        new StorePart({
          ...{ config, log, open: options.openStore },
          onFailed: (error) => life.fail('store', error),
          isEnding: () => life.isEnding,
        }),
    );
    const host = { store, configHash: configHash(prints), log };
    const cluster = joinCluster && (await life.boot('cluster', () => joinCluster(host)));
    const node = new GatewayNode({ config, version, prints, cluster, life });
    const mcp = new McpSide({
      ...{ config, catalog, version, environment, log, redactor, lines, life, cluster, entryHashes },
      ...{ stateFolder, shutdownMs: life.shutdownMs + REAP_MS + 1000 },
      graceMs: () => life.graceMs,
    });
    await life.boot('servers', async () => {
      life.spawn('servers', guarded(supervisorMachine), mcp.catalogServers.supervisorInput());
      await mcp.boot();
      return mcp;
    });
    await life.boot('sessions', async () => mcp.clients);
    return new Gateway({ config, version, log, redactor, life, mcp, store, node });
  }

  private constructor({ config, version, log, redactor, life, mcp, store, node }: GatewayParts) {
    this.config = config;
    this.version = version;
    this.log = log;
    this.redactor = redactor;
    this.life = life;
    this.mcp = mcp;
    this.store = store;
    this.node = node;
  }

  /** Drains everything in reverse order within `shutdown_seconds`. */
  stop(): Promise<void> {
    return this.life.stop();
  }

  /** Applies the changes of the catalog and the profiles. Untouched servers keep processes and sessions. */
  async reload(
    catalog: Catalog,
    secrets: readonly string[],
    profiles?: ProfileEntries,
    prints: Partial<ConfigPrints> = {},
  ): Promise<CatalogDifference> {
    this.redactor.add(...secrets);
    const difference = await this.mcp.reload(catalog, profiles);
    this.node.use(prints);
    this.log.info(difference, 'catalog reloaded');
    return difference;
  }
}
