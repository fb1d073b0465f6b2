// Starts a gateway inside another program, without HTTP.

import { type Log, silentLog } from '../../actors/base/errors/log.ts';
import { GatewayRuntime } from '../../actors/gateway/gateway.ts';
import { Life } from '../../actors/gateway/life.ts';
import { loadConfig } from '../../config/load-config.ts';
import { addBundledPrograms } from '../bundled-programs.ts';
import { version } from '../version.ts';
import { EmbeddedGateway } from './embedded-gateway.ts';
import type { Gateway } from './gateway.ts';

export interface OpenGatewayOptions {
  /** Variables for `${VAR}` in the files. @default process.env */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** @default no log */
  readonly log?: Log;
  /**
   * Use of the state folder: `own` locks it for this process, `shared` allows other processes, `none` does
   * not use it (for catalogs that start no process). @default 'shared'
   */
  readonly state?: 'own' | 'shared' | 'none';
}

/**
 * Loads a gateway file with its catalog (the tool servers) and starts the gateway. Rejects with ConfigError.
 */
export async function openGateway(file: string, options: OpenGatewayOptions = {}): Promise<Gateway> {
  // Copied: the variables of the embedding program must not change.
  const environment = { ...(options.environment ?? process.env) };
  addBundledPrograms(environment);
  const { config, catalog, secrets, digests } = await loadConfig(file, environment);
  const life = new Life(config.shutdown_seconds * 1000);
  const core = await life.start(() =>
    GatewayRuntime.boot({
      ...{ log: silentLog, state: 'shared' },
      ...options,
      ...{ life, environment, config, catalog, secrets, digests, version },
    }),
  );
  return new EmbeddedGateway(core);
}
