// Temporary gateway for a command that runs agents, fleets and flows from files (`agents run -f`). It runs in
// this process, listens on loopback with a random key, and removes the state folder on stop. The command uses
// the same HTTP API as with any other gateway, so streaming, approvals and cancellation need no second
// implementation.
//
// Does not write to stdout. `stop` leaves no process and no file behind.

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '../actors/base/errors/log.ts';
import { GatewayRuntime } from '../actors/gateway/gateway.ts';
import { Life } from '../actors/gateway/life.ts';
import { openStore } from '../actors/store/open-store.ts';
import { usableProviders } from '../config/gateway-file/providers.ts';
import { type LoadedConfig, loadConfig } from '../config/load-config.ts';
import { ConfigError, hasError, type Problem } from '../config/reader/problem.ts';
import { SecretValues } from '../config/reader/secret-values.ts';
import { type LoadedResources, loadResources } from '../config/resources/load-resources.ts';
import { prepareAutomation } from './automate.ts';
import { Front } from './http/front.ts';
import { HttpServices } from './http/http-services.ts';
import { version } from './version.ts';

export interface LocalGateway {
  readonly url: URL;
  readonly key: string;
  readonly warnings: readonly Problem[];
  stop(): Promise<void>;
}

export interface LocalGatewayOptions {
  /** Files or folders with agents, fleets and flows; triggers are ignored. */
  readonly files: readonly string[];
  /** Gateway file with providers of models, prices and a catalog of tool servers. */
  readonly config?: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Time for running work on stop. */
const GRACE_SECONDS = 5;

/** Rejects with ConfigError for invalid files, and with errors during the start. */
export async function startLocalGateway(options: LocalGatewayOptions): Promise<LocalGateway> {
  const folder = await mkdtemp(join(tmpdir(), 'actor-gateway-local-'));
  const removeFolder = () => rm(folder, { recursive: true, force: true });
  try {
    const started = await startIn(folder, options);
    return { ...started, stop: () => started.stop().finally(removeFolder) };
  } catch (error) {
    await removeFolder();
    throw error;
  }
}

async function startIn(folder: string, options: LocalGatewayOptions): Promise<LocalGateway> {
  const key = randomBytes(24).toString('base64url');
  const loaded = await configIn(folder, options);
  const { config, catalog, environment } = loaded;
  const ownConfig = {
    ...config,
    listen_addr: '127.0.0.1:0',
    api_key: key,
    auth: {},
    allowed_hosts: [],
    allowed_origins: [],
    state_dir: join(folder, 'state'),
    inspector: { ...config.inspector, enabled: false },
    shutdown_seconds: GRACE_SECONDS,
    store: {},
  } as LoadedConfig['config'];
  const resources = await agentsOf(options, loaded);
  const life = new Life(GRACE_SECONDS * 1000);
  const front = await life.start(async () => {
    const gateway = await GatewayRuntime.boot({
      ...{ life, catalog, version, openStore },
      config: ownConfig,
      secrets: [...loaded.secrets, key],
      log: silentLog,
      environment: options.environment,
    });
    const { callGuard, start } = prepareAutomation(gateway, {
      resources,
      load: async () => resources,
      environment: () => environment,
      watched: [],
    });
    const http = await life.boot('http', () => HttpServices.open({ gateway, callGuard }));
    const triggers = await start(http.unverifiedBodies);
    return life.boot('front', () => Front.open({ http, triggers, reload: async () => ({}) }));
  });
  const url = new URL(`http://127.0.0.1:${front.address.port}/`);
  return { url, key, warnings: resources.problems, stop: () => life.stop() };
}

/** Returns the settings of the gateway file, or the defaults. */
async function configIn(folder: string, { config, environment }: LocalGatewayOptions): Promise<LoadedConfig> {
  if (config !== undefined) return loadConfig(config, environment);
  await writeFile(join(folder, 'catalog.yaml'), 'servers: {}\n');
  const file = join(folder, 'gateway.yaml');
  await writeFile(file, JSON.stringify({ listen_addr: '127.0.0.1:0', catalog_path: './catalog.yaml' }));
  // Reads `.env` as if the gateway file were in the working folder.
  return loadConfig(file, environment, { envBeside: 'gateway.yaml' });
}

async function agentsOf(
  { files }: LocalGatewayOptions,
  { config, catalog, environment }: LoadedConfig,
): Promise<LoadedResources> {
  const secrets = new SecretValues();
  const { providers, prices } = config;
  usableProviders(providers, environment, secrets);
  const references = { providers, prices, servers: Object.keys(catalog.servers) };
  const resources = await loadResources({ files, env: environment, secrets, agentContext: references });
  if (hasError(resources.problems)) throw new ConfigError(resources.problems);
  return { ...resources, triggers: [] };
}
