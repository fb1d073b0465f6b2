// Reads all configuration files as a start would, without applying anything.

import { resourceFolders } from '../config/gateway-file/resource-folders.ts';
import { loadTarget } from '../config/load-config.ts';
import { ConfigError, type Problem } from '../config/reader/problem.ts';
import { SecretValues } from '../config/reader/secret-values.ts';
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
    });
    if (resourceFolders(config.spec).length === 0) return [];
    const { loadGatewayResources } = await import('../config/resources/gateway-resources.ts');
    const servers = Object.keys(catalog.servers);
    const hasKey = config.api_key !== '';
    const { problems } = await loadGatewayResources(config, environment, new SecretValues(), servers, hasKey);
    return problems;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems;
  }
}
