// Makes the automation of a gateway whose configuration names a folder of triggers, agents, fleets or flows. Loaded only then: a gateway
// with none of them starts without the code for them.

import { Automation } from '../actors/automation/automation.ts';
import type { Gateway } from '../actors/gateway/gateway.ts';
import type { GatewayConfig } from '../config/gateway-file/gateway-schema.ts';
import { resourceFolders } from '../config/gateway-file/resource-folders.ts';
import { ConfigError, hasError } from '../config/reader/problem.ts';
import { SecretValues } from '../config/reader/secret-values.ts';
import type { Environment } from '../config/reader/substitute.ts';
import { loadGatewayResources } from '../config/resources/gateway-resources.ts';
import type { LoadedResources } from '../config/resources/load-resources.ts';
import type { ConfigurationFiles, ValuesInUse } from './configuration-files.ts';
import type { TriggersPart } from './http/front.ts';
import { TriggersFront } from './http/triggers-front.ts';
import { Webhooks } from './http/webhooks.ts';
import { keptDefinitions } from './kept-definitions.ts';
import type { TriggerHalf } from './reloads.ts';

export interface AutomateOptions {
  readonly gateway: Gateway;
  readonly resources: LoadedResources;
  /** Reads the resources after a folder has changed. */
  load(): Promise<LoadedResources>;
  /** Variables in use: a reload reads `.env` again. */
  environment(): Environment;
  /** Folders to watch for changes. */
  readonly watched: readonly string[];
}

export interface Automated extends TriggersPart {
  readonly automation: Automation;
  readonly webhooks: Webhooks;
}

/** Returns the automation of these resources; the store and the rest come with its boot. */
export function automate({ gateway, resources, load, environment, watched }: AutomateOptions): Automated {
  const { config, redactor } = gateway;
  const addSecrets = (secrets: readonly string[]) => redactor.add(...secrets);
  const webhooks = new Webhooks(gateway);
  const automation = new Automation({
    gateway,
    resources,
    load,
    openListener: webhooks.open,
    watched,
    definitions: keptDefinitions(environment, addSecrets),
    modelServices: async (log) => {
      const { modelServices } = await import('./model-services.ts');
      return modelServices(config, environment(), addSecrets, log);
    },
  });
  return {
    automation,
    webhooks,
    callGuard: () => automation.callGuard,
    serve: async (heartbeat) =>
      new TriggersFront({ gateway, automation: await automation.running, webhooks, heartbeat }),
  };
}

/** Reads the folders of the gateway file. Throws ConfigError with every problem of them. */
export async function automateFolders(
  gateway: Gateway,
  files: ConfigurationFiles,
): Promise<Automated & TriggerHalf> {
  const { config } = gateway;
  const resources = await readResources(config, files.inUse);
  if (hasError(resources.problems)) throw new ConfigError(resources.problems);
  const environment = () => files.inUse.environment;
  const automated = automate({
    gateway,
    resources,
    load: () => readResources(config, files.inUse),
    environment,
    watched: config.spec.triggers.watch ? [...new Set(resourceFolders(config.spec))] : [],
  });
  return {
    ...automated,
    problems: async () => (await readResources(config, { environment: environment() })).problems,
    reload: async (next, applyRest) => {
      const running = await automated.automation.running;
      return running.reload(() => readResources(config, next), applyRest);
    },
  };
}

/** Without a catalog, names of servers are not checked. */
function readResources(
  config: GatewayConfig,
  { environment, catalog }: Partial<ValuesInUse> & Pick<ValuesInUse, 'environment'>,
): Promise<LoadedResources> {
  const servers = catalog && Object.keys(catalog.servers);
  return loadGatewayResources(config, environment, new SecretValues(), servers, config.api_key !== '');
}
