// Finds the references to a server in the gateway file's profiles and in the resource files of agents, fleets
// and triggers. If the server were removed, the gateway could not load this configuration.

import { loadTarget } from '../../../config/load-config.ts';
import { ConfigError, formatProblem, hasError } from '../../../config/reader/problem.ts';
import { loadConfiguredResources } from '../../../config/resources/configured-resources.ts';
import type { CatalogLocation } from './location.ts';

/**
 * Returns one line per reference. References in resource files are the errors that appear if the server is
 * removed. Returns [] if the gateway file or the catalog cannot be loaded.
 */
export async function findServerReferences(
  id: string,
  { config, environment }: CatalogLocation,
): Promise<readonly string[]> {
  if (config === undefined) return [];
  try {
    const { config: settings, catalog } = await loadTarget({ config }, environment);
    const profiles = Object.entries(settings.profiles)
      .filter(([, { servers }]) => servers?.includes(id) === true)
      .map(([name]) => `${config}: profiles.${name}.servers contains it`);
    /** Returns the errors in the resource files if the catalog contains only these servers. */
    const errorsWith = async (servers: readonly string[]) =>
      ((await loadConfiguredResources(settings, environment, servers))?.problems ?? [])
        .filter((problem) => hasError([problem]))
        .map(formatProblem);
    const ids = Object.keys(catalog.servers);
    const currentErrors = await errorsWith(ids);
    const errorsAfterRemoval = await errorsWith(ids.filter((each) => each !== id));
    return [...profiles, ...errorsAfterRemoval.filter((each) => !currentErrors.includes(each))];
  } catch (error) {
    if (error instanceof ConfigError) return [];
    throw error;
  }
}
