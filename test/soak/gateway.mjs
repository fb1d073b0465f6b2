// The gateway under test: the built program, started, stopped, killed and stalled. It is at the same address in every life.
//
// Seen here: a start that fails, an end that nobody asked for, a stop that is late or says so by its exit code, and lines of
// the log that only a bug can write.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const START_MS = 60_000;
/** shutdown_seconds, and what a loaded machine may add. */
const STOP_MS = 20_000;
const HEAP_MB = 384;
/** A gateway that holds more than its heap and this beside it has lost count of something. */
const MAX_RSS_MB = 900;
const KEPT_LINES = 400;

export class GatewayLife {
  /** Counts up with each start. */
  number = 0;
  isUp = false;
  #world;
  #journal;
  #dist;
  #secrets;
  #log;
  #child;
  #isEndExpected = false;
  #ended = Promise.resolve();
  #lines = [];
  #whenReady = () => {};

  constructor({ world, journal, dist, secrets }) {
    this.#world = world;
    this.#journal = journal;
    this.#dist = dist;
    this.#secrets = secrets;
    this.#log = createWriteStream(join(world.folder, 'gateway.log'));
  }

  get url() {
    return `http://127.0.0.1:${this.#world.port}`;
  }

  get pid() {
    return this.#child?.pid;
  }

  /** Starts it; resolves when it is ready. Rejects when it does not come to that. */
  async start() {
    this.launch();
    const isReady = await this.ready();
    if (!isReady) {
      this.#journal.violate('a gateway starts', this.#lines.slice(-5).join('\n') || 'it has written nothing');
      throw new Error('the gateway does not start');
    }
  }

  /** Starts it, whatever becomes of it. */
  launch() {
    this.number += 1;
    this.#isEndExpected = false;
    const clock = pathToFileURL(join(import.meta.dirname, 'stepped-clock.mjs')).href;
    const child = spawn(
      process.execPath,
      [
        `--max-old-space-size=${HEAP_MB}`,
        `--import=${clock}`,
        resolve(this.#dist, 'main.js'),
        '--config',
        this.#world.config,
      ],
      {
        cwd: this.#world.folder,
        env: { ...process.env, SOAK_CLOCK_FILE: this.#world.clockFile },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    this.#child = child;
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', (line) => this.#onLine(line));
    this.#ended = once(child, 'exit').then(([code, signal]) => {
      if (this.#child !== child) return;
      this.isUp = false;
      this.#whenReady(false);
      if (this.#isEndExpected) return;
      const last = this.#lines.slice(-8).join('\n');
      this.#journal.violate('the gateway ends only when it is told to', `${code ?? signal}:\n${last}`);
    });
  }

  /** Whether the life that has begun comes to be ready. */
  ready() {
    if (this.isUp) return Promise.resolve(true);
    return new Promise((done) => {
      const timer = setTimeout(() => done(false), START_MS);
      this.#whenReady = (isReady) => {
        clearTimeout(timer);
        done(isReady);
      };
    });
  }

  async kill() {
    this.#isEndExpected = true;
    this.isUp = false;
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  async stop() {
    this.#isEndExpected = true;
    this.isUp = false;
    const child = this.#child;
    child.kill('SIGTERM');
    const isInTime = await Promise.race([
      this.#ended.then(() => true),
      sleep(STOP_MS, false, { ref: false }),
    ]);
    if (isInTime && child.exitCode === 0) return;
    this.#journal.violate(
      'a stop ends in time, with exit code 0',
      isInTime ? `${child.exitCode ?? child.signalCode}: ${this.#lines.at(-1)}` : 'it did not end',
    );
    child.kill('SIGKILL');
    await this.#ended;
  }

  /** As a machine that is suspended. */
  async stall(ms) {
    this.#child.kill('SIGSTOP');
    await sleep(ms);
    this.#child.kill('SIGCONT');
  }

  /** Notes how much memory it holds, and whether that is too much. */
  weigh() {
    try {
      // Of one that has just ended there is no such line.
      const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.pid}/status`, 'utf8'))?.[1] ?? 0;
      const megabytes = Math.round(Number(kilobytes) / 1024);
      this.#journal.most('most memory held, MB', megabytes);
      if (megabytes > MAX_RSS_MB) this.#journal.violate('memory is bounded', `${megabytes} MB`);
    } catch {
      // It is not there just now.
    }
  }

  #onLine(line) {
    this.#log.write(`${line}\n`);
    this.#lines.push(line.slice(0, 2_000));
    if (this.#lines.length > KEPT_LINES) this.#lines.splice(0, KEPT_LINES / 2);
    if (line.includes('"msg":"gateway is ready"')) {
      this.isUp = true;
      this.#whenReady(true);
    }
    if (/"level":"fatal"|fault of the gateway|Unhandled|uncaught/i.test(line) && !this.#isEndExpected)
      this.#journal.violate('the log tells of no bug', line.slice(0, 500));
    if (this.#secrets.some((secret) => line.includes(secret)))
      this.#journal.violate('no secret is logged', line.slice(0, 200));
  }
}
