// What else of a configuration names a server: profiles of the gateway file, and agents. Without the server the gateway would not load it.

import { resourceFolders } from '../../../config/gateway-file/resource-folders.ts';
import { loadTarget } from '../../../config/load-config.ts';
import { ConfigError, formatProblem, hasError } from '../../../config/reader/problem.ts';
import { SecretValues } from '../../../config/reader/secret-values.ts';
import type { CatalogPlace } from './catalog-place.ts';

/** Where it is named, a line each; none for a configuration that cannot be loaded as it is, of which nobody can say what breaks it. */
export async function namedElsewhere(
  id: string,
  { config, environment }: CatalogPlace,
): Promise<readonly string[]> {
  if (config === undefined) return [];
  try {
    const { config: settings, catalog } = await loadTarget({ config }, environment);
    const profiles = Object.entries(settings.profiles)
      .filter(([, { servers }]) => servers?.includes(id) === true)
      .map(([name]) => `${config}: profiles.${name}.servers names it`);
    if (resourceFolders(settings.spec).length === 0) return profiles;
    const { loadGatewayResources } = await import('../../../config/resources/gateway-resources.ts');
    const problemsWith = async (servers: readonly string[]) =>
      (await loadGatewayResources(settings, environment, new SecretValues(), servers)).problems
        .filter((problem) => hasError([problem]))
        .map(formatProblem);
    const ids = Object.keys(catalog.servers);
    const before = await problemsWith(ids);
    const after = await problemsWith(ids.filter((each) => each !== id));
    return [...profiles, ...after.filter((each) => !before.includes(each))];
  } catch (error) {
    if (error instanceof ConfigError) return [];
    throw error;
  }
}
