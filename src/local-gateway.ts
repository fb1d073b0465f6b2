// A gateway for one command: it runs the agents, fleets and flows of some files in this process, on loopback with a key that nobody else has, with a
// state folder that is removed in the end. So whoever talks with it does that over the same HTTP API as with any other gateway:
// there is one way of streaming, asking and deciding, and not a second one without a listener.
//
// LOC1  it says nothing on stdout, and leaves neither a process nor a file behind when it is stopped.

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '../actors/base/errors/log.ts';
import { Gateway } from '../actors/gateway/gateway.ts';
import { Life } from '../actors/gateway/life.ts';
import { openStore } from '../actors/store/open-store.ts';
import { usableProviders } from '../config/gateway-file/providers.ts';
import { type Loaded, loadConfig } from '../config/load-config.ts';
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
  /** Files or folders with agents, fleets and flows; triggers in them are left alone. */
  readonly files: readonly string[];
  /** The gateway file whose providers, prices and catalog are used. */
  readonly config?: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const GRACE_SECONDS = 5;

/** Throws ConfigError for files that are wrong; rejects with what a gateway cannot start for. */
export async function startLocalGateway(options: LocalGatewayOptions): Promise<LocalGateway> {
  const folder = await mkdtemp(join(tmpdir(), 'actor-gateway-local-'));
  const forget = () => rm(folder, { recursive: true, force: true });
  try {
    const started = await startIn(folder, options);
    return { ...started, stop: () => started.stop().finally(forget) };
  } catch (error) {
    await forget();
    throw error;
  }
}

async function startIn(folder: string, options: LocalGatewayOptions): Promise<LocalGateway> {
  const key = randomBytes(24).toString('base64url');
  const loaded = await configIn(folder, options);
  const { config, catalog, environment } = loaded;
  const own = {
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
  } as Loaded['config'];
  const resources = await agentsOf(options, loaded);
  const life = new Life(GRACE_SECONDS * 1000);
  const front = await life.start(async () => {
    const gateway = await Gateway.boot({
      ...{ life, catalog, version, openStore },
      config: own,
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
    const triggers = await start(http.unproven);
    return life.boot('front', () => Front.open({ http, triggers, reload: async () => ({}) }));
  });
  const url = new URL(`http://127.0.0.1:${front.address.port}/`);
  return { url, key, warnings: resources.problems, stop: () => life.stop() };
}

/** The settings of a file, or those that there are without one. */
async function configIn(folder: string, { config, environment }: LocalGatewayOptions): Promise<Loaded> {
  if (config !== undefined) return loadConfig(config, environment);
  await writeFile(join(folder, 'catalog.yaml'), 'servers: {}\n');
  const file = join(folder, 'gateway.yaml');
  await writeFile(file, JSON.stringify({ listen_addr: '127.0.0.1:0', catalog_path: './catalog.yaml' }));
  // As it would be with a gateway file in the working folder.
  return loadConfig(file, environment, { envBeside: 'gateway.yaml' });
}

async function agentsOf(
  { files }: LocalGatewayOptions,
  { config, catalog, environment }: Loaded,
): Promise<LoadedResources> {
  const secrets = new SecretValues();
  const { providers, prices } = config;
  usableProviders(providers, environment, secrets);
  const given = { providers, prices, servers: Object.keys(catalog.servers) };
  const resources = await loadResources({ files, env: environment, secrets, given });
  if (hasError(resources.problems)) throw new ConfigError(resources.problems);
  return { ...resources, triggers: [] };
}
