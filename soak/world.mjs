// The folder in which the gateway lives: its configuration, the disk of its state, and its clock. What a reload changes is
// written here.

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Of the disk: at the beginning, and for what a minute leaves behind, since records are kept for days. */
const DISK_BYTES = 192 * 1024 * 1024;
const BYTES_A_MINUTE = 12 * 1024 * 1024;
const PIECE = Buffer.alloc(1024 * 1024);

export const SECRET = `soak-secret-${randomBytes(12).toString('hex')}`;
export const TOKEN = `soak-token-${randomBytes(12).toString('hex')}`;
export const REPOSITORIES = ['acme/site', 'acme/shop', 'other/tools'];

const servers = resolve(import.meta.dirname, 'servers');
const quickRetry = { attempts: 8, min_backoff_seconds: 0.2, factor: 2, max_backoff_seconds: 3 };

export class World {
  folder = mkdtempSync(join(tmpdir(), 'actor-gateway-soak-'));
  /** In the environment of every server: what is left of them is found by it. */
  mark = randomBytes(12).toString('hex');
  port = 0;
  hasDisk = false;
  #hasExtras = false;
  #generation = 0;
  #clockOffsetMs = 0;
  #diskBytes;
  #agents;
  #host;

  constructor({ agents, host, hasDisk, minutes }) {
    this.#diskBytes = DISK_BYTES + Math.ceil(minutes) * BYTES_A_MINUTE;
    this.#agents = agents;
    this.#host = host;
    this.hasDisk = hasDisk;
  }

  get clockFile() {
    return join(this.folder, 'clock');
  }

  get config() {
    return join(this.folder, 'gateway.yaml');
  }

  get stateFolder() {
    return join(this.folder, 'state');
  }

  get #ballast() {
    return join(this.stateFolder, 'ballast');
  }

  async make() {
    this.port = await freePort();
    mkdirSync(this.stateFolder, { mode: 0o700 });
    if (this.hasDisk)
      execFileSync('mount', [
        '-t',
        'tmpfs',
        '-o',
        `size=${this.#diskBytes},mode=0700`,
        'tmpfs',
        this.stateFolder,
      ]);
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

  /** Leaves nothing; or else what is needed to see what has happened. */
  close(isClean) {
    if (isClean) {
      if (this.hasDisk) execFileSync('umount', ['--lazy', this.stateFolder]);
      rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
    } else if (this.hasDisk) {
      // What is mounted is gone with this process.
      this.freeDisk();
      cpSync(this.stateFolder, join(this.folder, 'state-at-the-end'), { recursive: true });
    }
  }

  // What a reload finds.

  /** The next reload finds a server and a trigger that come and go, and a server that has changed. */
  change() {
    this.#hasExtras = !this.#hasExtras;
    this.#generation += 1;
    this.writeResources();
  }

  /** As at the beginning. */
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

  /** JSON is YAML. Moved into place, so that nobody reads half of it. */
  #write(name, content) {
    const path = join(this.folder, name);
    writeFileSync(`${path}.new`, JSON.stringify(content));
    renameSync(`${path}.new`, path);
  }

  // The clock, and the disk.

  stepClock(byMs) {
    this.#clockOffsetMs += byMs;
    writeFileSync(`${this.clockFile}.new`, String(this.#clockOffsetMs));
    renameSync(`${this.clockFile}.new`, this.clockFile);
  }

  /** The time as the gateway has it, in epoch ms. */
  get now() {
    return Date.now() + this.#clockOffsetMs;
  }

  /** Not one byte is left. */
  fillDisk() {
    const file = openSync(this.#ballast, 'a');
    try {
      for (let piece = PIECE; piece.length > 0; ) {
        try {
          const written = writeSync(file, piece);
          if (written < piece.length) piece = piece.subarray(0, Math.floor(piece.length / 2));
        } catch {
          piece = piece.subarray(0, Math.floor(piece.length / 2));
        }
      }
    } finally {
      closeSync(file);
    }
  }

  freeDisk() {
    rmSync(this.#ballast, { force: true });
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
