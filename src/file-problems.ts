// Reads all configuration files as a start of the gateway would, without applying them.

import { loadTarget } from '../config/load-config.ts';
import { ConfigError, type Problem } from '../config/reader/problem.ts';
import { loadConfiguredResources } from '../config/resources/configured-resources.ts';
import { loadCatalogInWorker } from './catalog-in-worker.ts';
import type { CliOptions } from './cli/options.ts';

/** Returns the problems of the gateway file, the catalog, and the files of triggers and agents. */
export async function fileProblems({
  target,
  listen,
}: Pick<CliOptions, 'target' | 'listen'>): Promise<readonly Problem[]> {
  try {
    const { config, catalog, environment } = await loadTarget(target, process.env, {
      hasTriggers: true,
      listen,
      catalogLoader: loadCatalogInWorker,
    });
    const hasKey = config.api_key !== '';
    const servers = Object.keys(catalog.servers);
    const resources = await loadConfiguredResources(config, environment, servers, { hasKey });
    return resources?.problems ?? [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems;
  }
}
