// Makes the automation of a gateway whose configuration names a folder of triggers, agents, fleets or flows. Loaded only then: a gateway
// with none of them starts without the code for them.

import { Automation } from '../actors/automation/automation.ts';
import type { GatewayConfig } from '../config/gateway-file/gateway-schema.ts';
import { resourceFolders } from '../config/gateway-file/resource-folders.ts';
import { ConfigError, hasError, type Problem } from '../config/reader/problem.ts';
import { SecretValues } from '../config/reader/secret-values.ts';
import type { Environment } from '../config/reader/substitute.ts';
import { loadGatewayResources } from '../config/resources/gateway-resources.ts';
import type { LoadedResources } from '../config/resources/load-resources.ts';
import type { Front } from './http/front.ts';
import { TriggersFront } from './http/triggers-front.ts';
import { keptDefinitions } from './kept-definitions.ts';

export interface AutomateOptions {
  readonly config: GatewayConfig;
  /** Ids of the servers of the catalog, as it is now. */
  servers(): readonly string[];
  /** As it is now: a reload reads `.env` again. */
  environment(): Environment;
  readonly front: Front;
  /** Takes values that must not be shown, before anything could show them (A9). */
  addSecrets(secrets: readonly string[]): void;
}

export interface Automated {
  readonly automation: Automation;
  /** What is wrong with the files of triggers and agents, as they are now. */
  problems(): Promise<readonly Problem[]>;
}

/** Reads the triggers and agents. Throws ConfigError with every problem of them; the store and the rest come with its boot. */
export async function automate(options: AutomateOptions): Promise<Automated> {
  const { config, front } = options;
  const { triggers } = config.spec;
  const resources = await readResources(options);
  if (hasError(resources.problems)) throw new ConfigError(resources.problems);
  const folders = resourceFolders(config.spec);
  const automation = new Automation({
    resources,
    load: () => readResources(options),
    openListener: front.openWebhooks,
    watched: triggers.watch ? [...new Set(folders)] : [],
    maxBodyBytes: config.limits.body_bytes,
    concurrency: config.deliveries.concurrency,
    definitions: keptDefinitions(options.environment, options.addSecrets),
    modelServices: async (log) => {
      const { modelServices } = await import('./model-services.ts');
      return modelServices(config, options.environment(), options.addSecrets, log);
    },
  });
  front.triggers = new TriggersFront(automation, front);
  return { automation, problems: async () => (await readResources(options)).problems };
}

async function readResources(options: AutomateOptions): Promise<LoadedResources> {
  const secrets = new SecretValues();
  const resources = await loadGatewayResources(
    options.config,
    options.environment(),
    secrets,
    options.servers(),
    options.config.api_key !== '',
  );
  options.addSecrets(secrets.list());
  return resources;
}
