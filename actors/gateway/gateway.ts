// The gateway without front ends: boots the state folder, the audit, the store, the cluster membership and,
// last, the MCP side as parts of the life cycle (life.ts). Front ends are further parts (src/http,
// src/stdio).
//
// Parts are constructed in start order and receive earlier parts.

import type { Catalog } from '../../config/catalog/catalog-schema.ts';
import { type ConfigDigests, configHash } from '../../config/config-hash.ts';
import type { GatewayConfig } from '../../config/gateway-file/gateway-schema.ts';
import type { ProfileEntries } from '../../config/gateway-file/profile-schema.ts';
import { supervisorMachine } from '../../machines/supervisor.ts';
import type { Audit } from '../audit/audit-part.ts';
import { Alarms } from '../base/alarms/alarms.ts';
import type { Log } from '../base/errors/log.ts';
import { Redactor } from '../base/errors/redact.ts';
import { stopChildrenOnThrow } from '../base/supervision/stop-children-on-throw.ts';
import { WorkSlices } from '../base/time/work-slices.ts';
import type { ClusterPart, ClusterPartOptions } from '../cluster/cluster-part.ts';
import { History } from '../history/history-part.ts';
import { gatewayEnvironment } from '../mcp/links/stdio/child-env.ts';
import { McpSide } from '../mcp/mcp-side.ts';
import type { CatalogDifference } from '../mcp/servers/catalog-servers.ts';
import { RecentLines } from '../mcp/servers/lines/recent.ts';
import { storingLog } from '../mcp/servers/lines/storing-log.ts';
import type { ManagedServer } from '../mcp/servers/managed-server.ts';
import { StateFolder } from '../state/state-folder.ts';
import { type OpenStore, StorePart } from '../store/store-part.ts';
import { type Life, REAP_MS } from './life.ts';
import { GatewayNode, nodeName } from './node.ts';

export type ClusterHost = Pick<ClusterPartOptions, 'store' | 'configHash' | 'log'>;

export interface GatewayRuntimeOptions {
  /** Boots and drains the parts. */
  readonly life: Life;
  readonly config: GatewayConfig;
  readonly catalog: Catalog;
  /** Secret values, for redaction. */
  readonly secrets: readonly string[];
  /** Redactor of the log, to which the secrets are added. @default a new redactor */
  readonly redactor?: Redactor;
  readonly log: Log;
  readonly version: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /**
   * Use of the state folder: `own` locks it for this process; `shared` uses it together with the gateway that
   * has locked it; `none` stores nothing, for a catalog without local servers. @default 'own'
   */
  readonly state?: 'own' | 'shared' | 'none';
  /** Opens the store when the first part needs it; undefined if this gateway uses no store. */
  readonly openStore?: OpenStore | undefined;
  /** Joins the cluster; undefined unless the store is shared with other gateways. */
  readonly joinCluster?: ((host: ClusterHost) => Promise<ClusterPart>) | undefined;
  /** Digests of the configuration files, for the comparison of nodes. */
  readonly digests?: Partial<ConfigDigests> | undefined;
}

type GatewayParts = Omit<GatewayRuntime, 'stop' | 'reload'>;

export class GatewayRuntime {
  readonly config: GatewayConfig;
  readonly version: string;
  readonly log: Log;
  readonly alarms: Alarms;
  readonly redactor: Redactor;
  readonly life: Life;
  readonly mcp: McpSide;
  /** Undefined if disabled. */
  readonly history: History | undefined;
  /** Undefined unless configured. */
  readonly audit: Audit | undefined;
  /** Opened by the first part that needs it. */
  readonly store: StorePart;
  readonly node: GatewayNode;

  /** Boots the parts of the gateway. Call it within `life.start`. */
  static async boot(options: GatewayRuntimeOptions): Promise<GatewayRuntime> {
    const { life, config, version, catalog, environment, joinCluster, digests = {} } = options;
    const redactor = options.redactor ?? new Redactor([]);
    redactor.add(...options.secrets);
    const lines = new RecentLines();
    const log = storingLog(options.log, lines, redactor);
    const alarms = await life.boot('alarms', async () => new Alarms(log));
    // Hash of each server's catalog entry. It names the file that caches the lists of the server.
    const entryHashes = new Map<ManagedServer, string>();
    const stateFolder = await life.boot('state', () =>
      StateFolder.open({
        stateDir: config.state_dir,
        kind: options.state ?? 'own',
        listenAddr: config.listen_addr,
        environment,
        log,
        alarms,
        usedHashes: () => new Set(entryHashes.values()),
      }),
    );
    const { stateDir } = stateFolder;
    const history = config.history.enabled
      ? await life.boot('history', () => History.open({ config, stateDir, redactor, alarms, log }))
      : undefined;
    const { audit: auditConfig } = config;
    const audit =
      auditConfig &&
      (await life.boot('audit', async () => {
        // A gateway without an audit loads none of its code.
        const module = await import('../audit/audit-part.ts');
        const isShared = options.state !== undefined && options.state !== 'own';
        const { state_dir } = config;
        const names = { node: nodeName(config), config: auditConfig, stateDir: state_dir, isShared };
        return module.Audit.open({ ...names, redactor, alarms, log: options.log });
      }));
    const store = await life.boot(
      'store',
      async () =>
        new StorePart({
          config,
          log: storingLog(options.log, lines, redactor, 'store'),
          alarms,
          open: options.openStore,
          onFailed: (error) => life.fail('store', error),
          isStopping: () => life.isEnding,
        }),
    );
    const host = { store, configHash: configHash(digests), log };
    const cluster = joinCluster && (await life.boot('cluster', () => joinCluster(host)));
    const node = new GatewayNode({ config, version, digests, cluster, life });
    const mcp = new McpSide({
      config,
      catalog,
      version,
      environment: gatewayEnvironment(environment, config),
      log,
      redactor,
      lines,
      life,
      cluster,
      entryHashes,
      stateFolder,
      recentCalls: history?.calls,
      audit,
      // Time limit for stopping a server. Calls in flight get `life.shutdownMs` to complete. Then the
      // processes are killed within REAP_MS. The last second is a margin, so that these two limits expire
      // first.
      shutdownMs: life.shutdownMs + REAP_MS + 1000,
      graceMs: () => life.graceMs,
    });
    await life.boot('servers', async () => {
      life.spawn('servers', stopChildrenOnThrow(supervisorMachine), mcp.catalogServers.supervisorInput());
      await mcp.boot();
      return mcp;
    });
    await life.boot('sessions', async () => mcp.clients);
    const parts = { mcp, history, audit, store, node };
    return new GatewayRuntime({ config, version, log, alarms, redactor, life, ...parts });
  }

  private constructor({
    config,
    version,
    log,
    alarms,
    redactor,
    life,
    mcp,
    history,
    audit,
    store,
    node,
  }: GatewayParts) {
    this.config = config;
    this.version = version;
    this.log = log;
    this.alarms = alarms;
    this.redactor = redactor;
    this.life = life;
    this.mcp = mcp;
    this.history = history;
    this.audit = audit;
    this.store = store;
    this.node = node;
  }

  /** Drains all parts in reverse order within `shutdown_seconds`. */
  stop(): Promise<void> {
    return this.life.stop();
  }

  /** Applies catalog and profile changes. Unchanged servers keep their processes and sessions. */
  async reload(
    catalog: Catalog,
    secrets: readonly string[],
    profiles?: ProfileEntries,
    digests: Partial<ConfigDigests> = {},
  ): Promise<CatalogDifference> {
    const slices = new WorkSlices();
    for (const secret of secrets) {
      await slices.pause();
      this.redactor.add(secret);
    }
    const difference = await this.mcp.reload(catalog, profiles);
    this.node.use(digests);
    this.log.info(difference, 'catalog reloaded');
    return difference;
  }
}
