// Loads the folders of triggers, agents, fleets and flows, and starts the automation (all parts that handle
// events). The module is imported only if the configuration names such a folder.

import { ResourcesInUse } from '../actors/automation/resources-in-use.ts';
import { startAutomation } from '../actors/automation/start-automation.ts';
import type { GatewayRuntime } from '../actors/gateway/gateway.ts';
import { type ConfigDigests, resourcesDigest } from '../config/config-hash.ts';
import type { GatewayConfig } from '../config/gateway-file/gateway-schema.ts';
import { resourceFolders } from '../config/gateway-file/resource-folders.ts';
import { ConfigError, hasError, type Problem } from '../config/reader/problem.ts';
import { SecretValues } from '../config/reader/secret-values.ts';
import type { Environment } from '../config/reader/substitute.ts';
import type { CallGuard } from '../config/resources/call-guards.ts';
import { loadGatewayResources } from '../config/resources/gateway-resources.ts';
import type { LoadedResources } from '../config/resources/load-resources.ts';
import type { ConfigurationFiles, ValuesInUse } from './configuration-files.ts';
import type { BodyBudget } from './http/body/body-budget.ts';
import { TriggersFront } from './http/triggers-front.ts';
import { Webhooks } from './http/webhooks.ts';
import type { TriggerReload } from './reloads.ts';
import { storedDefinitions } from './stored-definitions.ts';

export interface AutomationSource {
  /** Resources loaded at the start. */
  readonly resources: LoadedResources;
  /** Reads the resources again when a folder has changed. */
  load(): Promise<LoadedResources>;
  /** Variables in use: a reload reads `.env` again. */
  environment(): Environment;
  /** Folders to watch for changes. */
  readonly watched: readonly string[];
  /** Called with the problems of changed files. */
  readonly onProblems?: ((problems: readonly Problem[]) => void) | undefined;
}

/**
 * Automation before the start. The resources are already active, because the guard of tool calls reads them.
 */
export interface PreparedAutomation {
  /** Returns the guard of tool calls (the checks of the active files before each call), if any. */
  callGuard(): CallGuard | undefined;
  /**
   * Starts the automation and returns the HTTP side. `unverifiedBodies` limits the memory for request bodies
   * of senders without valid credentials.
   */
  start(unverifiedBodies: BodyBudget): Promise<TriggersFront>;
}

/** Activates the resources. */
export function prepareAutomation(gateway: GatewayRuntime, source: AutomationSource): PreparedAutomation {
  const { config, redactor, life } = gateway;
  const { load, environment, watched, onProblems } = source;
  const resources = new ResourcesInUse(source.resources, gateway);
  const addSecrets = (secrets: readonly string[]) => redactor.add(...secrets);
  return {
    callGuard: () => resources.callGuard,
    start: async (unverifiedBodies) => {
      const webhooks = new Webhooks(gateway, unverifiedBodies);
      const services = {
        ...{ gateway, load, watched, onProblems },
        openListener: webhooks.open,
        definitions: storedDefinitions(environment, addSecrets),
        modelServices: async (log: GatewayRuntime['log']) => {
          const { modelServices } = await import('./model-services.ts');
          return modelServices(config, environment(), addSecrets, log);
        },
      };
      const automation = await life.boot('automation', () => startAutomation(services, resources));
      return new TriggersFront({ gateway, automation, webhooks });
    },
  };
}

/** Automation from the resource folders in the gateway file. */
export interface FolderAutomation {
  /** Digest of the resources, to detect nodes (gateways of a cluster) with other files. */
  readonly digests: Pick<ConfigDigests, 'resources'>;
  /** `onProblems` is called with the problems of changed files. */
  prepare(gateway: GatewayRuntime, onProblems?: AutomationSource['onProblems']): PreparedAutomation;
  /** Returns the functions that reload the folders. */
  reloadOf(triggers: TriggersFront): TriggerReload;
}

/** Reads the folders of the gateway file. Throws ConfigError with all problems. */
export async function automateFolders(
  config: GatewayConfig,
  files: ConfigurationFiles,
): Promise<FolderAutomation> {
  const resources = await readResources(config, files.inUse);
  if (hasError(resources.problems)) throw new ConfigError(resources.problems);
  const environment = () => files.inUse.environment;
  const source = {
    ...{ resources, environment },
    load: () => readResources(config, files.inUse),
    watched: config.spec.triggers.watch ? [...new Set(resourceFolders(config.spec))] : [],
  };
  return {
    digests: { resources: resourcesDigest(resources.digests) },
    prepare: (gateway, onProblems) => prepareAutomation(gateway, { ...source, onProblems }),
    reloadOf: ({ automation }) => ({
      problems: async () => (await readResources(config, { environment: environment() })).problems,
      reload: (next, applyRest) => automation.reload(() => readResources(config, next), applyRest),
    }),
  };
}

/** Reads the folders. Server names are checked only with a catalog. */
function readResources(
  config: GatewayConfig,
  { environment, catalog }: Partial<ValuesInUse> & Pick<ValuesInUse, 'environment'>,
): Promise<LoadedResources> {
  const servers = catalog && Object.keys(catalog.servers);
  return loadGatewayResources(config, environment, new SecretValues(), servers, config.api_key !== '');
}
