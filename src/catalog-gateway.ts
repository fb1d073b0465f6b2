// A gateway for one command over a catalog alone: its servers run in this process, on loopback with a key that nobody else has, with a
// state folder that is removed in the end. Whoever tries a catalog so meets its servers as any client would, over the same address.
//
// As of local-gateway.ts (LOC1): nothing on stdout, and neither a process nor a file is left behind when it is stopped.

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '../actors/base/errors/log.ts';
import { Gateway } from '../actors/gateway/gateway.ts';
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

const GRACE_SECONDS = 2;

/** Throws ConfigError for a catalog that is wrong; rejects with what a gateway cannot start for. */
export async function startCatalogGateway(
  catalog: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<CatalogGateway> {
  const folder = await mkdtemp(join(tmpdir(), 'actor-gateway-catalog-'));
  const forget = () => rm(folder, { recursive: true, force: true });
  try {
    const started = await startIn(folder, catalog, environment);
    return { ...started, stop: () => started.stop().finally(forget) };
  } catch (error) {
    await forget();
    throw error;
  }
}

async function startIn(
  folder: string,
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<CatalogGateway> {
  const key = randomBytes(24).toString('base64url');
  // There is one client, which can be asked.
  const loaded = await loadTarget({ catalog: file }, environment, {
    defaultIsolation: 'session',
    listen: '127.0.0.1:0',
  });
  const { config, catalog, secrets, warnings } = loaded;
  const life = new Life(GRACE_SECONDS * 1000);
  const front = await life.start(async () => {
    const gateway = await Gateway.boot({
      config: {
        ...config,
        api_key: key,
        state_dir: join(folder, 'state'),
        shutdown_seconds: GRACE_SECONDS,
        inspector: { ...config.inspector, enabled: false },
        // Servers start on the first call.
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
