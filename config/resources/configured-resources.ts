// Loads the resource files (triggers, agents, fleets, flows) if the gateway file (gateway.yaml) names their
// folders. Without folders, the code that reads them is not imported, because the import delays the startup.

import { resourceFolders } from '../gateway-file/resource-folders.ts';
import { SecretValues } from '../reader/secret-values.ts';
import type { Environment } from '../reader/substitute.ts';
import type { ResourceSettings } from './gateway-resources.ts';
import type { LoadedResources } from './load-resources.ts';

/**
 * Returns undefined if the gateway file names no folder. `servers` are the ids of the catalog's servers,
 * undefined if unknown. `secrets` collects values to redact. `hasKey` is true if the gateway has an API key,
 * and undefined during validation.
 */
export async function loadConfiguredResources(
  settings: ResourceSettings,
  env: Environment,
  servers: readonly string[] | undefined,
  {
    secrets = new SecretValues(),
    hasKey,
  }: { readonly secrets?: SecretValues; readonly hasKey?: boolean } = {},
): Promise<LoadedResources | undefined> {
  if (resourceFolders(settings.spec).length === 0) return undefined;
  const { loadGatewayResources } = await import('./gateway-resources.ts');
  return loadGatewayResources(settings, env, secrets, servers, hasKey);
}
