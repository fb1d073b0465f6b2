// Environment of a conformance run: bundled fixture servers (with HTTP as processes), and a gateway. `close`
// stops all processes and removes the folder.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { buildSync } from 'esbuild';

const root = resolve(import.meta.dirname, '../..');
const dist = resolve(root, process.env.ACTOR_GATEWAY_DIST ?? 'dist');
const startMs = 30_000;
const endMs = 15_000;

export class Stage {
  #folder = mkdtempSync(join(tmpdir(), 'actor-gateway-conformance-'));
  #children = [];
  #scripts = new Map();
  #outputs = 0;

  /** Creates a folder for the results of one run. */
  outputFolder() {
    this.#outputs += 1;
    const folder = join(this.#folder, `results-${this.#outputs}`);
    mkdirSync(folder);
    return folder;
  }

  /** Returns the catalog entry of a fixture (`everything` or `both-eras`) over stdio. */
  overStdio(fixture, options) {
    return { command: process.execPath, args: [this.#script(`${fixture}/stdio`), JSON.stringify(options)] };
  }

  /** Starts a fixture over HTTP. Returns its address. */
  async overHttp(fixture, options) {
    const args = [this.#script(`${fixture}/http`), JSON.stringify(options)];
    return this.#start(args, 'pipe', (text) => /^http:\S+$/m.exec(text)?.[0]);
  }

  /** Starts the gateway with these catalog entries. Returns its address. */
  async gateway(servers) {
    const folder = join(this.#folder, 'gateway');
    mkdirSync(folder);
    const settings = { listen_addr: '127.0.0.1:0', catalog_path: './catalog.yaml', shutdown_seconds: 3 };
    const config = join(folder, 'gateway.yaml');
    writeFileSync(config, JSON.stringify(settings));
    writeFileSync(join(folder, 'catalog.yaml'), JSON.stringify({ servers }));
    return this.#start([join(dist, 'main.js'), '--config', config], 'ignore', (text) => {
      const line = text.split('\n').find((each) => each.includes('"gateway is ready"'));
      return line === undefined ? undefined : `http://127.0.0.1:${JSON.parse(line).address.port}`;
    });
  }

  /** Stops all processes in reverse order: the gateway before the servers. */
  async close() {
    for (const child of this.#children.reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, 'close');
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), endMs);
      await ended;
      clearTimeout(timer);
    }
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #script(name) {
    const known = this.#scripts.get(name);
    if (known !== undefined) return known;
    const outfile = join(this.#folder, `${name.replace('/', '-')}.mjs`);
    buildSync({
      entryPoints: [join(root, 'test', 'fixtures', `${name}.ts`)],
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      outfile,
      logLevel: 'error',
    });
    this.#scripts.set(name, outfile);
    return outfile;
  }

  /** Starts a process. Resolves with the result of `ready(output)`, when it is defined. */
  #start(args, stdin, ready) {
    const child = spawn(process.execPath, args, { cwd: this.#folder, stdio: [stdin, 'pipe', 'pipe'] });
    this.#children.push(child);
    let text = '';
    let isReady = false;
    return new Promise((resolve, reject) => {
      const fail = (why) => reject(new Error(`${args[0]} ${why}:\n${text.slice(-4000)}`));
      const timer = setTimeout(() => fail(`was not ready within ${startMs / 1000} s`), startMs);
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8');
        stream.on('data', (chunk) => {
          if (isReady) return;
          text += chunk;
          const found = ready(text);
          if (found === undefined) return;
          isReady = true;
          clearTimeout(timer);
          resolve(found);
        });
      }
      child.on('error', (error) => fail(error.message));
      child.on('close', (code) => {
        clearTimeout(timer);
        fail(`ended with ${code}`);
      });
    });
  }
}
