// The gateway without a front end: its life cycle, the MCP side, the store, and its place in a cluster. Users receive the part
// that they need, and front ends are parts of the life cycle (src/http, src/stdio).

import type { Catalog } from '../../config/catalog/catalog-schema.ts';
import { ConfigHash, type ConfigPrints } from '../../config/config-hash.ts';
import type { GatewayConfig } from '../../config/gateway-file/gateway-schema.ts';
import type { ProfileEntries } from '../../config/gateway-file/profile-schema.ts';
import type { Log } from '../base/errors/log.ts';
import { Redactor } from '../base/errors/redact.ts';
import type { Part } from '../base/supervision/part.ts';
import type { ClusterHost, ClusterPart } from '../cluster/cluster-part.ts';
import { McpSide } from '../mcp/mcp-side.ts';
import type { CatalogDifference } from '../mcp/servers/catalog-servers.ts';
import { keptLog } from '../mcp/servers/lines/kept-log.ts';
import { RecentLines } from '../mcp/servers/lines/recent-lines.ts';
import type { ManagedServer } from '../mcp/servers/managed-server.ts';
import { StateFolder } from '../state/state-folder.ts';
import { type OpenStore, StorePart } from '../store/store-part.ts';
import { GatewayNode } from './gateway-node.ts';
import { Life, REAP_MS } from './life.ts';

export interface GatewayOptions {
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
  readonly cluster?: ((host: ClusterHost) => ClusterPart) | undefined;
  /** Digests of the configuration files, by which nodes are compared. */
  readonly prints?: Partial<ConfigPrints> | undefined;
}

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
  readonly #stateFolder: StateFolder;

  constructor(options: GatewayOptions) {
    const { config, version, catalog, environment } = options;
    const redactor = options.redactor ?? new Redactor([]);
    redactor.add(...options.secrets);
    const lines = new RecentLines();
    const log = keptLog(options.log, lines, redactor);
    const shutdownMs = config.shutdown_seconds * 1000;
    const life = new Life(shutdownMs);
    const store = new StorePart({
      ...{ config, log, open: options.openStore },
      onFailed: (error) => life.fail('store', error),
      isEnding: () => life.isEnding,
    });
    const configHash = new ConfigHash(options.prints);
    const cluster = options.cluster?.({ store, configHash, log });
    const entryHashes = new Map<ManagedServer, string>();
    this.#stateFolder = new StateFolder({
      stateDir: config.state_dir,
      kind: options.state ?? 'own',
      listenAddr: config.listen_addr,
      ...{ environment, log },
      usedHashes: () => new Set(entryHashes.values()),
    });
    this.config = config;
    this.version = version;
    this.log = log;
    this.redactor = redactor;
    this.life = life;
    this.store = store;
    this.node = new GatewayNode({ config, version, configHash, cluster, life });
    this.mcp = new McpSide({
      ...{ config, catalog, version, environment, log, redactor, lines, life, cluster, entryHashes },
      stateFolder: this.#stateFolder,
      shutdownMs: shutdownMs + REAP_MS + 1000,
      graceMs: () => life.graceMs,
    });
  }

  /**
   * Boots the parts of the gateway and then `parts`. Rejects with the first reason that a part cannot boot, and then nothing
   * is left running.
   */
  async start(parts: readonly Part[] = []): Promise<void> {
    const { mcp, store, node, life } = this;
    const stateFolder = this.#stateFolder;
    const own: readonly (Part | undefined)[] = [
      { name: 'state', boot: () => stateFolder.begin(), drain: () => stateFolder.end(mcp.flush()) },
      store,
      node.cluster,
      { name: 'servers', boot: () => mcp.boot(), drain: () => mcp.drain() },
      { name: 'sessions', boot: async () => {}, drain: async () => mcp.clients.end() },
    ];
    const all = [...own.filter((part) => part !== undefined), ...parts];
    await life.start(all, mcp.catalogServers.supervisorInput());
    mcp.learn();
  }

  /** Drains everything in reverse order within `shutdown_seconds`. */
  stop(): Promise<void> {
    this.mcp.clients.close();
    void this.node.cluster?.tellDraining();
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
    this.node.configHash.use(prints);
    this.log.info(difference, 'catalog reloaded');
    return difference;
  }
}
