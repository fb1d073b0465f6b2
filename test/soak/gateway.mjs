// Starts, stops, kills and stalls the gateway under test (the built program), at a fixed address.
//
// Detects these violations: a failed start, an unexpected exit, a slow stop or a stop with an error code, and
// log lines that report a bug or contain a secret.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const START_MS = 60_000;
/** shutdown_seconds, plus the delay on loaded machines. */
const STOP_MS = 20_000;
const HEAP_MB = 384;
/** Heap limit plus normal memory outside the heap. More indicates a leak. */
const MAX_RSS_MB = 900;
const STORED_LINES = 400;

export class GatewayLife {
  /** Number of starts. */
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

  /** Starts the gateway. Resolves when it is ready, rejects if it does not become ready. */
  async start() {
    this.launch();
    const isReady = await this.ready();
    if (!isReady) {
      this.#journal.violate('a gateway starts', this.#lines.slice(-5).join('\n') || 'no output');
      throw new Error('the gateway does not start');
    }
  }

  /** Starts the process and returns immediately. */
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
      this.#journal.violate('the gateway exits only on request', `${code ?? signal}:\n${last}`);
    });
  }

  /** Resolves with true when the gateway is ready, with false if the process exits first or times out. */
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

  /** Suspends the process for this time. */
  async stall(ms) {
    this.#child.kill('SIGSTOP');
    await sleep(ms);
    this.#child.kill('SIGCONT');
  }

  /** Records the memory in use. Reports a violation above MAX_RSS_MB. */
  weigh() {
    try {
      // The line is missing for a process that is exiting.
      const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.pid}/status`, 'utf8'))?.[1] ?? 0;
      const megabytes = Math.round(Number(kilobytes) / 1024);
      this.#journal.most('most memory held, MB', megabytes);
      if (megabytes > MAX_RSS_MB) this.#journal.violate('memory is bounded', `${megabytes} MB`);
    } catch {
      // The gateway is not running.
    }
  }

  #onLine(line) {
    this.#log.write(`${line}\n`);
    this.#lines.push(line.slice(0, 2_000));
    if (this.#lines.length > STORED_LINES) this.#lines.splice(0, STORED_LINES / 2);
    if (line.includes('"msg":"gateway is ready"')) {
      this.isUp = true;
      this.#whenReady(true);
    }
    if (
      /"level":"fatal"|internal error of the gateway|Unhandled|uncaught/i.test(line) &&
      !this.#isEndExpected
    )
      this.#journal.violate('the log contains no bug', line.slice(0, 500));
    if (this.#secrets.some((secret) => line.includes(secret)))
      this.#journal.violate('no secret is logged', line.slice(0, 200));
  }
}
