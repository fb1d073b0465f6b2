// Makes the automation of a gateway whose configuration names a folder of triggers, agents, fleets or flows. Loaded only then: a gateway
// with none of them starts without the code for them.

import { Automation } from '../actors/automation/automation.ts';
import type { GatewayConfig } from '../config/gateway-file/gateway-schema.ts';
import { resourceFolders } from '../config/gateway-file/resource-folders.ts';
import { ConfigError, hasError } from '../config/reader/problem.ts';
import { SecretValues } from '../config/reader/secret-values.ts';
import { loadGatewayResources } from '../config/resources/gateway-resources.ts';
import type { LoadedResources } from '../config/resources/load-resources.ts';
import type { ConfigurationFiles, ValuesInUse } from './configuration-files.ts';
import type { Front } from './http/front.ts';
import { TriggersFront } from './http/triggers-front.ts';
import { keptDefinitions } from './kept-definitions.ts';
import type { TriggerHalf } from './reloads.ts';

export interface AutomateOptions {
  readonly config: GatewayConfig;
  readonly files: ConfigurationFiles;
  readonly front: Front;
  /** Takes values that must not be shown, before anything could show them (A9). */
  addSecrets(secrets: readonly string[]): void;
}

export interface Automated extends TriggerHalf {
  readonly automation: Automation;
}

/** Reads the triggers and agents. Throws ConfigError with every problem of them; the store and the rest come with its boot. */
export async function automate(options: AutomateOptions): Promise<Automated> {
  const { config, files, front, addSecrets } = options;
  const { triggers } = config.spec;
  const resources = await readResources(config, files.inUse);
  if (hasError(resources.problems)) throw new ConfigError(resources.problems);
  addSecrets(resources.secrets);
  const folders = resourceFolders(config.spec);
  const environment = () => files.inUse.environment;
  const automation = new Automation({
    resources,
    load: () => readResources(config, files.inUse),
    openListener: front.openWebhooks,
    watched: triggers.watch ? [...new Set(folders)] : [],
    maxBodyBytes: config.limits.body_bytes,
    concurrency: config.deliveries.concurrency,
    definitions: keptDefinitions(environment, addSecrets),
    modelServices: async (log) => {
      const { modelServices } = await import('./model-services.ts');
      return modelServices(config, environment(), addSecrets, log);
    },
  });
  front.triggers = new TriggersFront(automation, front);
  return {
    automation,
    problems: async () => (await readResources(config, { environment: environment() })).problems,
    reload: (next, applyRest) => automation.reload(() => readResources(config, next), applyRest),
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
