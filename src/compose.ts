// Composes the gateway program from the loaded configuration, and starts the parts in this order: gateway
// (tool servers), http, nodes (the listener for other gateways of the cluster), automation (triggers and
// agents), front (the listeners for clients). Each object receives services in the constructor. The code for
// automation and clusters is imported only if the configuration uses it.

import { resolve } from 'node:path';
import type { Log } from '../actors/base/errors/log.ts';
import { Redactor } from '../actors/base/errors/redact.ts';
import type { ClusterPart } from '../actors/cluster/cluster-part.ts';
import { type ClusterHost, GatewayRuntime } from '../actors/gateway/gateway.ts';
import { Life } from '../actors/gateway/life.ts';
import { ProcessWatch } from '../actors/gateway/process-watch.ts';
import type { CatalogDifference } from '../actors/mcp/servers/catalog-servers.ts';
import type { OpenStore } from '../actors/store/store-part.ts';
import { resourceFolders } from '../config/gateway-file/resource-folders.ts';
import { type LoadedConfig, loadTarget } from '../config/load-config.ts';
import { formatProblem, type Problem } from '../config/reader/problem.ts';
import type { FolderAutomation } from './automate.ts';
import { loadCatalogInWorker } from './catalog-in-worker.ts';
import type { CliOptions } from './cli/options.ts';
import { ConfigurationAlarm } from './configuration-alarm.ts';
import { ConfigurationFiles } from './configuration-files.ts';
import { fileProblems } from './file-problems.ts';
import { Front } from './http/front.ts';
import { HttpServices } from './http/http-services.ts';
import type { NodesFront } from './http/nodes/nodes-front.ts';
import type { TriggersFront } from './http/triggers-front.ts';
import { createLog } from './log.ts';
import { Reloads } from './reloads.ts';
import { version } from './version.ts';

type Config = LoadedConfig['config'];

/** The composed program, not started yet. */
export interface Program {
  readonly config: Config;
  readonly redactor: Redactor;
  readonly log: Log;
  /** Starts the parts in order, and stops them in reverse order. */
  readonly life: Life;
  /** Rejects with the first error, after stopping all started parts. */
  start(): Promise<RunningProgram>;
}

export interface RunningProgram {
  readonly gateway: GatewayRuntime;
  readonly front: Front;
  /** Undefined without automation. */
  readonly triggers: TriggersFront | undefined;
  readonly reloads: Reloads;
}

/** Composes the program without starting it. Throws ConfigError for invalid files of triggers and agents. */
export async function compose(loaded: LoadedConfig, options: CliOptions): Promise<Program> {
  const { target, listen } = options;
  const { config, catalog, secrets } = loaded;
  const loadOptions = { listen, catalogLoader: loadCatalogInWorker };
  const files = new ConfigurationFiles(loaded, () => loadTarget(target, process.env, loadOptions));
  const redactor = new Redactor([]);
  const log = await createLog({ level: config.log_level, fd: 1, redactor });
  const folders = await foldersOf(config, files);
  const life = new Life(config.shutdown_seconds * 1000);
  const start = async (): Promise<RunningProgram> => {
    const gateway = await GatewayRuntime.boot({
      ...{ life, config, catalog, secrets, redactor, log, version, openStore },
      digests: { ...loaded.digests, ...folders?.digests },
      environment: process.env,
      joinCluster: await clusterOf(config),
    });
    const { alarms } = gateway;
    await life.boot('process watch', async () => new ProcessWatch(alarms));
    const configuration = new ConfigurationAlarm({ alarms, problems: () => fileProblems(options) });
    const onProblems = (problems: readonly Problem[]) => configuration.update(problems);
    const automation = folders?.prepare(gateway, onProblems);
    const http = await life.boot('http', () =>
      HttpServices.open({ gateway, callGuard: automation?.callGuard }),
    );
    const nodes = await nodesOf(gateway, http);
    const triggers = await automation?.start(http.unverifiedBodies);
    const reloads = new Reloads({
      ...{ files, log, onProblems },
      applyCatalog: (next) => applyCatalog(gateway, log, next),
      progress: () => gateway.mcp.reloadProgress,
      triggers: triggers && folders?.reloadOf(triggers),
      isStopping: () => life.isEnding,
    });
    const front = await life.boot('front', () =>
      Front.open({
        ...{ http, triggers, forwarder: nodes?.forwarder },
        addressSetting: listen === undefined ? undefined : '--listen',
        gatewayFile: 'config' in target ? resolve(target.config) : undefined,
        reload: () => reloads.request(),
      }),
    );
    return { gateway, front, triggers, reloads };
  };
  return { config, redactor, log, life, start: () => life.start(start) };
}

/** Applies the changed catalog and profiles. Other settings of the gateway file need a restart. */
function applyCatalog(gateway: GatewayRuntime, log: Log, next: LoadedConfig): Promise<CatalogDifference> {
  const { config } = gateway;
  for (const warning of next.warnings) log.warn({}, formatProblem(warning));
  if (JSON.stringify({ ...next.config, profiles: config.profiles }) !== JSON.stringify(config)) {
    log.warn(
      {},
      'the gateway file has changed; only catalog, profiles and triggers were reloaded, other settings need a restart',
    );
  }
  const { catalog, profiles } = next.digests;
  return gateway.reload(next.catalog, next.secrets, next.config.profiles, { catalog, profiles });
}

/** Imports the database engine only when the store is opened. */
const openStore: OpenStore = async (config, host) => {
  const { openStore: open } =
    config.store.postgres === undefined
      ? await import('../actors/store/open-store.ts')
      : await import('../actors/store/postgres/open-store.ts');
  return open(config, host);
};

/** Returns a function that joins the cluster; undefined if the store is not shared. */
async function clusterOf({
  store,
  node,
}: Config): Promise<((host: ClusterHost) => Promise<ClusterPart>) | undefined> {
  if (store.postgres === undefined) return undefined;
  const { ClusterPart } = await import('../actors/cluster/cluster-part.ts');
  return (host) => ClusterPart.join({ ...host, version, node });
}

/** Loads the folders of triggers, agents, fleets and flows; undefined if the gateway file names none. */
async function foldersOf(config: Config, files: ConfigurationFiles): Promise<FolderAutomation | undefined> {
  if (resourceFolders(config.spec).length === 0) return undefined;
  const { automateFolders } = await import('./automate.ts');
  return automateFolders(config, files);
}

/** Opens the listener for other nodes; undefined if node.address is not set. */
async function nodesOf({ node, life }: GatewayRuntime, http: HttpServices): Promise<NodesFront | undefined> {
  const { cluster } = node;
  if (cluster?.peers === undefined) return undefined;
  const { peers } = cluster;
  const { NodesFront } = await import('./http/nodes/nodes-front.ts');
  return life.boot('nodes', () => NodesFront.open({ http, cluster, reach: peers }));
}
