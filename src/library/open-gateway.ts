// Starts the gateway of a file for a program that embeds it.

import { type Log, silentLog } from '../../actors/base/errors/log.ts';
import { Gateway as Core } from '../../actors/gateway/gateway.ts';
import { Life } from '../../actors/gateway/life.ts';
import { loadConfig } from '../../config/load-config.ts';
import { addOwnPrograms } from '../own-programs.ts';
import { version } from '../version.ts';
import { EmbeddedGateway } from './embedded-gateway.ts';
import type { Gateway } from './gateway.ts';

export interface OpenGatewayOptions {
  /** Variables for `${VAR}` in the files. @default process.env */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** @default no log */
  readonly log?: Log;
  /**
   * The state folder: `own` takes it for this process alone, `shared` lives beside its owner and others like itself,
   * `none` keeps nothing there, for a catalog that starts no process. @default 'shared'
   */
  readonly state?: 'own' | 'shared' | 'none';
}

/**
 * Loads a gateway file with its catalog and starts the gateway, without HTTP. Rejects with ConfigError if the files have
 * errors.
 */
export async function openGateway(file: string, options: OpenGatewayOptions = {}): Promise<Gateway> {
  // A copy: the variables of the program that embeds it stay as they are.
  const environment = { ...(options.environment ?? process.env) };
  addOwnPrograms(environment);
  const { config, catalog, secrets, prints } = await loadConfig(file, environment);
  const life = new Life(config.shutdown_seconds * 1000);
  const core = await life.start(() =>
    Core.boot({
      ...{ log: silentLog, state: 'shared' },
      ...options,
      ...{ life, environment, config, catalog, secrets, prints, version },
    }),
  );
  return new EmbeddedGateway(core);
}
