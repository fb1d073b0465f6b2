// Loads triggers, agents, fleets and flows from the folders that the gateway file (gateway.yaml) names.

import type { GatewayConfig } from '../gateway-file/gateway-schema.ts';
import { parseListenAddr } from '../gateway-file/listen-addr.ts';
import { usableProviders } from '../gateway-file/providers.ts';
import type { SecretValues } from '../reader/secret-values.ts';
import type { Environment } from '../reader/substitute.ts';
import { type LoadedResources, loadResources } from './load-resources.ts';

/**
 * `listen_addr` is undefined if unknown. Without it, triggers that accept unverified requests are not checked
 * for their restriction to loopback.
 */
export type ResourceSettings = Pick<GatewayConfig, 'spec' | 'platforms' | 'providers' | 'prices'> & {
  readonly listen_addr: string | undefined;
};

/**
 * Loads all resources. Never rejects because of file contents. `servers` are the ids of the catalog's
 * servers, undefined if unknown. Adds the API keys of model providers to `secrets`, also keys from the
 * providers' standard environment variables. `hasKey` is true if the gateway has an API key, and undefined
 * during validation.
 */
export function loadGatewayResources(
  { spec, platforms, listen_addr, providers, prices }: ResourceSettings,
  env: Environment,
  secrets: SecretValues,
  servers: readonly string[] | undefined,
  hasKey?: boolean,
): Promise<LoadedResources> {
  // Called only because it adds the API keys of the providers to `secrets`.
  usableProviders(providers, env, secrets);
  return loadResources({
    triggers: spec.triggers.directory,
    agents: spec.agents.directory,
    fleets: spec.fleets.directory,
    flows: spec.flows.directory,
    env,
    secrets,
    // At run time a warning is sufficient: the flow node with the unsafe URL fails without sending.
    unsafeUrls: hasKey === undefined ? 'error' : 'warning',
    defaultAgent: spec.runtime.default_agent,
    platforms,
    agentContext: { providers, prices, servers },
    hasKey,
    listen: listen_addr === undefined ? undefined : parseListenAddr(listen_addr),
  });
}
