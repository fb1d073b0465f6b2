// Builds the gateway program from its configuration, in the order redactor → log → gateway → webhooks → automation → reloads → front.
// Each object receives its parts in its constructor. The code of automation and clusters is loaded only where the
// configuration uses it.

import type { Log } from '../actors/base/errors/log.ts';
import { Redactor } from '../actors/base/errors/redact.ts';
import type { Part } from '../actors/base/supervision/part.ts';
import type { ClusterHost, ClusterPart } from '../actors/cluster/cluster-part.ts';
import { Gateway } from '../actors/gateway/gateway.ts';
import type { CatalogDifference } from '../actors/mcp/servers/catalog-servers.ts';
import type { OpenStore } from '../actors/store/store-part.ts';
import { resourceFolders } from '../config/gateway-file/resource-folders.ts';
import { type Loaded, loadTarget } from '../config/load-config.ts';
import { formatProblem } from '../config/reader/problem.ts';
import type { CliOptions } from './cli/options.ts';
import { ConfigurationFiles } from './configuration-files.ts';
import { Front, type FrontOptions } from './http/front.ts';
import { createLog } from './log.ts';
import { Reloads } from './reloads.ts';
import { version } from './version.ts';

type Config = Loaded['config'];

export interface Program {
  readonly gateway: Gateway;
  /** Started after the gateway's own parts, in this order. */
  readonly parts: readonly Part[];
  readonly front: Front;
  readonly automation: Awaited<ReturnType<typeof automationOf>>;
  readonly reloads: Reloads;
  readonly log: Log;
}

/** Builds the program and starts nothing. Throws ConfigError for the files of triggers, agents, fleets and flows. */
export async function compose(loaded: Loaded, { target, listen }: CliOptions): Promise<Program> {
  const { config, catalog, secrets, prints } = loaded;
  const files = new ConfigurationFiles(loaded, () => loadTarget(target, process.env, { listen }));
  const redactor = new Redactor([]);
  const log = await createLog({ level: config.log_level, fd: 1, redactor });
  const gateway = new Gateway({
    ...{ config, catalog, secrets, prints, redactor, log, version, openStore },
    environment: process.env,
    cluster: await clusterOf(config),
  });
  const automation = await automationOf(gateway, files);
  const reloads = new Reloads({
    files,
    applyCatalog: (next) => applyCatalog(gateway, log, next),
    triggers: automation,
    isStopping: () => gateway.life.isEnding,
    log,
  });
  const front = new Front({
    gateway,
    unproven: automation?.webhooks.unproven,
    triggers: automation,
    nodes: await nodesOf(config),
    addressSetting: listen === undefined ? undefined : '--listen',
    reload: () => reloads.ask(),
  });
  const parts = [front.nodes, automation?.automation, front].filter((part) => part !== undefined);
  return { gateway, parts, front, automation, reloads, log };
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
async function clusterOf({ store, node }: Config): Promise<((host: ClusterHost) => ClusterPart) | undefined> {
  if (store.postgres === undefined) return undefined;
  const { ClusterPart } = await import('../actors/cluster/cluster-part.ts');
  return (host) => new ClusterPart({ ...host, version, node });
}

/** Undefined without a folder of triggers, agents, fleets or flows. */
async function automationOf(gateway: Gateway, files: ConfigurationFiles) {
  if (resourceFolders(gateway.config.spec).length === 0) return undefined;
  const { automateFolders } = await import('./automate.ts');
  return automateFolders(gateway, files);
}

/** Undefined if other nodes cannot reach this one. */
async function nodesOf({ store, node }: Config): Promise<FrontOptions['nodes']> {
  if (store.postgres === undefined || node.address === undefined) return undefined;
  const { NodesFront } = await import('./http/nodes/nodes-front.ts');
  return (front) => new NodesFront(front);
}
