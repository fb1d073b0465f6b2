// Composes the gateway program from its configuration: reads the files, then boots gateway → http → nodes → automation → front. Each
// object receives its services in the constructor. The code of automation and clusters is loaded only if the configuration uses it.

import type { Log } from '../actors/base/errors/log.ts';
import { Redactor } from '../actors/base/errors/redact.ts';
import type { ClusterPart } from '../actors/cluster/cluster-part.ts';
import { type ClusterHost, Gateway } from '../actors/gateway/gateway.ts';
import { Life } from '../actors/gateway/life.ts';
import type { CatalogDifference } from '../actors/mcp/servers/catalog-servers.ts';
import type { OpenStore } from '../actors/store/store-part.ts';
import { resourceFolders } from '../config/gateway-file/resource-folders.ts';
import { type Loaded, loadTarget } from '../config/load-config.ts';
import { formatProblem } from '../config/reader/problem.ts';
import type { FolderAutomation } from './automate.ts';
import type { CliOptions } from './cli/options.ts';
import { ConfigurationFiles } from './configuration-files.ts';
import { Front } from './http/front.ts';
import { HttpServices } from './http/http-services.ts';
import type { NodesFront } from './http/nodes/nodes-front.ts';
import type { TriggersFront } from './http/triggers-front.ts';
import { createLog } from './log.ts';
import { Reloads } from './reloads.ts';
import { version } from './version.ts';

type Config = Loaded['config'];

/** The program before its start. */
export interface Program {
  readonly config: Config;
  readonly redactor: Redactor;
  readonly log: Log;
  readonly life: Life;
  /** Rejects with the first error, after draining the started parts. */
  start(): Promise<RunningProgram>;
}

export interface RunningProgram {
  readonly gateway: Gateway;
  readonly front: Front;
  /** Undefined without automation. */
  readonly triggers: TriggersFront | undefined;
  readonly reloads: Reloads;
}

/** Reads the files and starts nothing. Throws ConfigError for the files of triggers, agents, fleets and flows. */
export async function compose(loaded: Loaded, { target, listen }: CliOptions): Promise<Program> {
  const { config, catalog, secrets } = loaded;
  const files = new ConfigurationFiles(loaded, () => loadTarget(target, process.env, { listen }));
  const redactor = new Redactor([]);
  const log = await createLog({ level: config.log_level, fd: 1, redactor });
  const folders = await foldersOf(config, files);
  const life = new Life(config.shutdown_seconds * 1000);
  const start = async (): Promise<RunningProgram> => {
    const gateway = await Gateway.boot({
      ...{ life, config, catalog, secrets, redactor, log, version, openStore },
      prints: { ...loaded.prints, ...folders?.prints },
      environment: process.env,
      joinCluster: await clusterOf(config),
    });
    const automation = folders?.prepare(gateway);
    const http = await life.boot('http', () =>
      HttpServices.open({ gateway, callGuard: automation?.callGuard }),
    );
    const nodes = await nodesOf(gateway, http);
    const triggers = await automation?.start(http.unproven);
    const reloads = new Reloads({
      ...{ files, log },
      applyCatalog: (next) => applyCatalog(gateway, log, next),
      triggers: triggers && folders?.reloadOf(triggers),
      isStopping: () => life.isEnding,
    });
    const front = await life.boot('front', () =>
      Front.open({
        ...{ http, triggers, nodes: nodes?.elsewhere },
        addressSetting: listen === undefined ? undefined : '--listen',
        reload: () => reloads.ask(),
      }),
    );
    return { gateway, front, triggers, reloads };
  };
  return { config, redactor, log, life, start: () => life.start(start) };
}

/** Applies the catalog, and the profiles of the gateway file. */
function applyCatalog(gateway: Gateway, log: Log, next: Loaded): Promise<CatalogDifference> {
  const { config } = gateway;
  for (const warning of next.warnings) log.warn({}, formatProblem(warning));
  if (JSON.stringify({ ...next.config, profiles: config.profiles }) !== JSON.stringify(config)) {
    log.warn(
      {},
      'the gateway file has changed too; its settings need a restart, only catalog, profiles and triggers were reloaded',
    );
  }
  const { catalog, profiles } = next.prints;
  return gateway.reload(next.catalog, next.secrets, next.config.profiles, { catalog, profiles });
}

/** Loads the engine when the store is opened. */
const openStore: OpenStore = async (config, host) => {
  const { openStore: open } =
    config.store.postgres === undefined
      ? await import('../actors/store/open-store.ts')
      : await import('../actors/store/postgres/open-store.ts');
  return open(config, host);
};

/** Undefined without a shared store. */
async function clusterOf({
  store,
  node,
}: Config): Promise<((host: ClusterHost) => Promise<ClusterPart>) | undefined> {
  if (store.postgres === undefined) return undefined;
  const { ClusterPart } = await import('../actors/cluster/cluster-part.ts');
  return (host) => ClusterPart.join({ ...host, version, node });
}

/** Undefined without a folder of triggers, agents, fleets or flows. */
async function foldersOf(config: Config, files: ConfigurationFiles): Promise<FolderAutomation | undefined> {
  if (resourceFolders(config.spec).length === 0) return undefined;
  const { automateFolders } = await import('./automate.ts');
  return automateFolders(config, files);
}

/** Undefined without node.address. */
async function nodesOf({ node, life }: Gateway, http: HttpServices): Promise<NodesFront | undefined> {
  const { cluster } = node;
  if (cluster?.reach === undefined) return undefined;
  const { reach } = cluster;
  const { NodesFront } = await import('./http/nodes/nodes-front.ts');
  return life.boot('nodes', () => NodesFront.open({ http, cluster, reach }));
}
