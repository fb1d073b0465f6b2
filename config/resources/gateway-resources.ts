// The triggers, agents, fleets and flows of a gateway. Its file says where they are, and what holds for all of them.

import type { GatewayConfig } from '../gateway-file/gateway-schema.ts';
import { parseListenAddr } from '../gateway-file/listen-addr.ts';
import { usableProviders } from '../gateway-file/providers.ts';
import type { Problem } from '../reader/problem.ts';
import type { SecretValues } from '../reader/secret-values.ts';
import type { Environment } from '../reader/substitute.ts';
import { type LoadedResources, loadResources } from './load-resources.ts';

/** `listen_addr` is undefined where it is not known; then nothing is said of loopback. */
export type ResourceSettings = Pick<GatewayConfig, 'spec' | 'platforms' | 'providers' | 'prices'> & {
  readonly listen_addr: string | undefined;
  /** Undefined where it could not be read. */
  readonly api_key: string | undefined;
};

/**
 * Never rejects for what is in the files. `servers` are the ids of the catalog, undefined where it is not known. Keys of providers
 * are among the `secrets` then, those of the usual variables too. `unsafeUrls` is the severity of unsafe urls in flows.
 */
export function loadGatewayResources(
  { spec, platforms, listen_addr, api_key, providers, prices }: ResourceSettings,
  env: Environment,
  secrets: SecretValues,
  servers: readonly string[] | undefined,
  unsafeUrls: Problem['severity'] = 'error',
): Promise<LoadedResources> {
  usableProviders(providers, env, secrets);
  return loadResources({
    triggers: spec.triggers.directory,
    agents: spec.agents.directory,
    fleets: spec.fleets.directory,
    flows: spec.flows.directory,
    env,
    secrets,
    unsafeUrls,
    defaultAgent: spec.runtime.default_agent,
    platforms,
    given: { providers, prices, servers },
    hasKey: api_key === undefined ? undefined : api_key !== '',
    listen: listen_addr === undefined ? undefined : parseListenAddr(listen_addr),
  });
}
