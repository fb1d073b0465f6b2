// Loads the resource files (triggers, agents, fleets, flows) if the gateway file names their folders. Without
// folders, the readers of resources are not imported, because the import takes time at startup.

import { resourceFolders } from '../gateway-file/resource-folders.ts';
import { SecretValues } from '../reader/secret-values.ts';
import type { Environment } from '../reader/substitute.ts';
import type { ResourceSettings } from './gateway-resources.ts';
import type { LoadedResources } from './load-resources.ts';

/** Like `loadGatewayResources`. Returns undefined if the gateway file names no folder. */
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
