// Folder of the gateway: configuration files, state disk and clock. Changes the files before a reload.

import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { StateDisk } from './state-disk.mjs';

export const SECRET = `soak-secret-${randomBytes(12).toString('hex')}`;
export const TOKEN = `soak-token-${randomBytes(12).toString('hex')}`;
export const REPOSITORIES = ['acme/site', 'acme/shop', 'other/tools'];

const servers = resolve(import.meta.dirname, 'servers');
const quickRetry = { attempts: 8, min_backoff_seconds: 0.2, factor: 2, max_backoff_seconds: 3 };

export class World {
  folder = mkdtempSync(join(tmpdir(), 'actor-gateway-soak-'));
  /** Environment variable of all servers, to find processes that are still running at the end. */
  mark = randomBytes(12).toString('hex');
  disk;
  port = 0;
  #hasExtras = false;
  #generation = 0;
  #clockOffsetMs = 0;
  #agents;
  #host;

  constructor({ agents, host, canMount, minutes }) {
    this.disk = new StateDisk({ folder: join(this.folder, 'state'), canMount, minutes });
    this.#agents = agents;
    this.#host = host;
  }

  get clockFile() {
    return join(this.folder, 'clock');
  }

  get config() {
    return join(this.folder, 'gateway.yaml');
  }

  get tokenFile() {
    return join(this.folder, 'state', 'operator-token');
  }

  async make() {
    this.port = await freePort();
    this.stepClock(0);
    this.#write('gateway.yaml', {
      listen_addr: `127.0.0.1:${this.port}`,
      catalog_path: './catalog.yaml',
      state_dir: './state',
      shutdown_seconds: 5,
      spec: { triggers: { directory: './triggers' }, agents: { directory: './agents' } },
    });
    this.writeResources();
  }

  /** Removes the folder, or keeps it for analysis. */
  close(isClean) {
    if (isClean) {
      this.disk.release();
      rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
    } else this.disk.copyTo(join(this.folder, 'state-at-the-end'));
  }

  /** Changes the files for a reload: adds or removes a server and a trigger, and changes a server. */
  change() {
    this.#hasExtras = !this.#hasExtras;
    this.#generation += 1;
    this.writeResources();
  }

  /** Restores the initial files. */
  restore() {
    this.#hasExtras = false;
    this.writeResources();
  }

  writeResources() {
    this.#write('catalog.yaml', { servers: this.#catalog() });
    const { url } = this.#agents;
    this.#resources('agents', 'Agent', {
      steady: { runtime: { http: { url: `${url}/steady` } } },
      shaky: { runtime: { http: { url: `${url}/shaky` } } },
      stuck: { runtime: { http: { url: `${url}/stuck` } } },
    });
    const hook = (name, more = {}) => ({
      type: 'HTTP',
      config: { path: `/hooks/${name}`, webhook_secret: SECRET, key: 'body:c' },
      retry: quickRetry,
      ...more,
    });
    this.#resources('triggers', 'Trigger', {
      orders: hook('orders', { default_agent: 'steady' }),
      shaky: hook('shaky', { default_agent: 'shaky', retry: { ...quickRetry, attempts: 20 } }),
      stuck: hook('stuck', { default_agent: 'stuck', timeout_seconds: 20 }),
      pulse: {
        type: 'Schedule',
        config: { cron: '* * * * * *' },
        default_agent: 'steady',
        retry: quickRetry,
      },
      hand: { type: 'Manual', config: {}, default_agent: 'steady', retry: quickRetry },
      repository: {
        type: 'RepoHost',
        config: { webhook_secret: SECRET, token: TOKEN, api_url: this.#host.url, repositories: REPOSITORIES },
        default_agent: 'steady',
        retry: quickRetry,
      },
      ...(this.#hasExtras ? { extra: hook('extra', { default_agent: 'steady' }) } : {}),
    });
  }

  #catalog() {
    const server = (name, more = {}) => ({
      command: process.execPath,
      args: [join(servers, 'server.mjs'), name],
      env: { SOAK_MARK: this.mark },
      idle_timeout_seconds: 20,
      request_timeout_seconds: 10,
      restart: { min_backoff_ms: 100, max_backoff_seconds: 1, park_seconds: 2 },
      ...more,
    });
    return {
      steady: server('steady'),
      crashing: server('crashing'),
      hanging: server('hanging', { request_timeout_seconds: 5 }),
      flooding: server('flooding'),
      endless: server('endless'),
      deep: server('deep'),
      changing: server('changing', { env: { SOAK_MARK: this.mark, GENERATION: String(this.#generation) } }),
      ...(this.#hasExtras ? { extra: server('extra') } : {}),
    };
  }

  #resources(folder, kind, specs) {
    mkdirSync(join(this.folder, folder), { recursive: true });
    for (const [name, spec] of Object.entries(specs)) {
      const resource = { apiVersion: 'soak/v1', kind, metadata: { name }, spec };
      this.#write(join(folder, `${name}.yaml`), resource);
    }
    const extra = join(this.folder, folder, 'extra.yaml');
    if (specs.extra === undefined && existsSync(extra)) unlinkSync(extra);
  }

  /** Writes a file atomically. The content is JSON, which is valid YAML. */
  #write(name, content) {
    const path = join(this.folder, name);
    writeFileSync(`${path}.new`, JSON.stringify(content));
    renameSync(`${path}.new`, path);
  }

  stepClock(byMs) {
    this.#clockOffsetMs += byMs;
    writeFileSync(`${this.clockFile}.new`, String(this.#clockOffsetMs));
    renameSync(`${this.clockFile}.new`, this.clockFile);
  }

  /** Time by the gateway's clock, in epoch milliseconds. */
  get now() {
    return Date.now() + this.#clockOffsetMs;
  }
}

function freePort() {
  return new Promise((done, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}
