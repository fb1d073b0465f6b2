// The triggers and agents of a gateway. Its file says where they are, and what holds for all of them.

import type { GatewayConfig } from '../gateway-file/gateway-schema.ts';
import { parseListenAddr } from '../gateway-file/listen-addr.ts';
import type { SecretValues } from '../reader/secret-values.ts';
import type { Environment } from '../reader/substitute.ts';
import { type LoadedResources, loadResources } from './load-resources.ts';

/** `listen_addr` is undefined where it is not known; then nothing is said of loopback. */
export type ResourceSettings = Pick<GatewayConfig, 'spec' | 'platforms'> & {
  readonly listen_addr: string | undefined;
};

/** Never rejects for what is in the files. */
export function loadGatewayResources(
  { spec, platforms, listen_addr }: ResourceSettings,
  env: Environment,
  secrets: SecretValues,
): Promise<LoadedResources> {
  return loadResources({
    triggers: spec.triggers.directory,
    agents: spec.agents.directory,
    env,
    secrets,
    defaultAgent: spec.runtime.default_agent,
    platforms,
    listen: listen_addr === undefined ? undefined : parseListenAddr(listen_addr),
  });
}
