// The gateway of a file, started, in one call: what most programs that embed it want. Who needs more makes a Gateway.

import { silentLog } from '../../actors/base/errors/log.ts';
import { Gateway, type GatewayOptions } from '../../actors/gateway/gateway.ts';
import { loadConfig } from '../../config/load-config.ts';
import { addOwnPrograms } from '../own-programs.ts';
import { version } from '../version.ts';

/**
 * Loads a gateway file with its catalog and starts the gateway, without HTTP and beside any other on the same state folder.
 * It says nothing unless `log` is given. Rejects with ConfigError for what is wrong in the files.
 */
export async function openGateway(
  file: string,
  options: Partial<Pick<GatewayOptions, 'environment' | 'log' | 'state' | 'parts'>> = {},
): Promise<Gateway> {
  // A copy: the variables of the program that embeds it stay as they are.
  const environment = { ...(options.environment ?? process.env) };
  addOwnPrograms(environment);
  const { config, catalog, secrets, prints } = await loadConfig(file, environment);
  const gateway = new Gateway({
    log: silentLog,
    state: 'shared',
    ...options,
    environment,
    config,
    catalog,
    secrets,
    prints,
    version,
  });
  await gateway.start();
  return gateway;
}
