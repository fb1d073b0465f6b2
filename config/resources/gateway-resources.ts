// The triggers, agents, fleets and flows of a gateway. Its file says where they are, and what holds for all of them.

import type { GatewayConfig } from '../gateway-file/gateway-schema.ts';
import { parseListenAddr } from '../gateway-file/listen-addr.ts';
import { usableProviders } from '../gateway-file/providers.ts';
import type { SecretValues } from '../reader/secret-values.ts';
import type { Environment } from '../reader/substitute.ts';
import { type LoadedResources, loadResources } from './load-resources.ts';

/** `listen_addr` is undefined where it is not known; then nothing is said of loopback. */
export type ResourceSettings = Pick<GatewayConfig, 'spec' | 'platforms' | 'providers' | 'prices'> & {
  readonly listen_addr: string | undefined;
};

/**
 * Never rejects for what is in the files. `servers` are the ids of the catalog, undefined where it is not known. Keys of providers
 * are among the `secrets` then, including the usual variables. `hasKey` is given for a gateway that will listen: there an unsafe url of
 * a flow is a warning, since its node sends nothing and fails.
 */
export function loadGatewayResources(
  { spec, platforms, listen_addr, providers, prices }: ResourceSettings,
  env: Environment,
  secrets: SecretValues,
  servers: readonly string[] | undefined,
  hasKey?: boolean,
): Promise<LoadedResources> {
  usableProviders(providers, env, secrets);
  return loadResources({
    triggers: spec.triggers.directory,
    agents: spec.agents.directory,
    fleets: spec.fleets.directory,
    flows: spec.flows.directory,
    env,
    secrets,
    unsafeUrls: hasKey === undefined ? 'error' : 'warning',
    defaultAgent: spec.runtime.default_agent,
    platforms,
    given: { providers, prices, servers },
    hasKey,
    listen: listen_addr === undefined ? undefined : parseListenAddr(listen_addr),
  });
}
