// Temporary gateway for a command that tries out a catalog, a file with tool servers (`tools --catalog`). It
// starts the servers of the catalog, listens on loopback with a random key, and removes the state folder on
// stop. The command uses the same HTTP API as with any other gateway.
//
// Does not write to stdout. `stop` leaves no process and no file behind.

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '../actors/base/errors/log.ts';
import { GatewayRuntime } from '../actors/gateway/gateway.ts';
import { Life } from '../actors/gateway/life.ts';
import { loadTarget } from '../config/load-config.ts';
import type { Problem } from '../config/reader/problem.ts';
import { Front } from './http/front.ts';
import { HttpServices } from './http/http-services.ts';
import { version } from './version.ts';

export interface CatalogGateway {
  readonly url: URL;
  readonly key: string;
  readonly warnings: readonly Problem[];
  stop(): Promise<void>;
}

/** Time for running calls on stop. */
const GRACE_SECONDS = 2;

/** Rejects with ConfigError if the catalog is invalid, and with errors during the start. */
export async function startCatalogGateway(
  catalog: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<CatalogGateway> {
  const folder = await mkdtemp(join(tmpdir(), 'actor-gateway-catalog-'));
  const removeFolder = () => rm(folder, { recursive: true, force: true });
  try {
    const started = await startIn(folder, catalog, environment);
    return { ...started, stop: () => started.stop().finally(removeFolder) };
  } catch (error) {
    await removeFolder();
    throw error;
  }
}

async function startIn(
  folder: string,
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<CatalogGateway> {
  const key = randomBytes(24).toString('base64url');
  // Each client gets server processes of its own, so servers can send requests to this only client.
  const loaded = await loadTarget({ catalog: file }, environment, {
    defaultIsolation: 'session',
    listen: '127.0.0.1:0',
  });
  const { config, catalog, secrets, warnings } = loaded;
  const life = new Life(GRACE_SECONDS * 1000);
  const front = await life.start(async () => {
    const gateway = await GatewayRuntime.boot({
      config: {
        ...config,
        api_key: key,
        state_dir: join(folder, 'state'),
        shutdown_seconds: GRACE_SECONDS,
        inspector: { ...config.inspector, enabled: false },
        // No server starts before the first call.
        learn: 'on_demand',
      },
      secrets: [...secrets, key],
      log: silentLog,
      ...{ life, catalog, version, environment },
    });
    const http = await life.boot('http', () => HttpServices.open({ gateway }));
    return life.boot('front', () => Front.open({ http, reload: async () => ({}) }));
  });
  const url = new URL(`http://127.0.0.1:${front.address.port}/`);
  return { url, key, warnings, stop: () => life.stop() };
}
