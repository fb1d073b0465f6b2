// One installation of a package by a launcher (npx, uvx, docker). It runs in a separate process, so a stop,
// reload or removal of the server does not interrupt it. It also completes after a crash of the gateway,
// because a killed process would leave a damaged folder. For this reason the process has neither the mark (an
// environment variable) nor the record (actors/state/) by which a restarted gateway finds processes to kill.

import { GatewayError, StartFailedError, StartTimeoutError } from '../../base/errors/errors.ts';
import type { Redactor } from '../../base/errors/redact.ts';
import { ChildProcess } from '../links/stdio/child-process.ts';
import { informativeLine } from '../links/stdio/exit-cause.ts';
import type { Launch } from '../links/stdio/start-failure.ts';
import { InstallOutput } from './install-output.ts';
import type { Installer } from './installer.ts';

/** Time limit of the check that precedes the installation. */
const CHECK_MS = 20_000;

export class Installation {
  readonly installer: Installer;
  /** performance.now() of the start; undefined in the queue. */
  startedAt: number | undefined;
  /** Resolves after the installation. Rejects with StartFailedError, StartTimeoutError, StoppedError. */
  readonly whenDone: Promise<void>;

  readonly #redactor: Redactor;
  readonly #timeoutMs: number;
  #output: InstallOutput | undefined;
  #child: ChildProcess | undefined;
  #resolve: () => void = () => {};
  #reject: (error: Error) => void = () => {};
  #isKilled = false;

  constructor(installer: Installer, timeoutMs: number, redactor: Redactor) {
    this.installer = installer;
    this.#timeoutMs = timeoutMs;
    this.#redactor = redactor;
    this.whenDone = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // A failure without a waiter must not count as an unhandled rejection.
    this.whenDone.catch(() => {});
  }

  /** Number of lines that the launcher has printed. */
  get lineCount(): number {
    return this.#output?.lineCount ?? 0;
  }

  /** The last printed line, redacted. */
  get lastLine(): string | undefined {
    return this.#output?.lastLines.at(-1);
  }

  /** Seconds since the start; 0 in the queue. */
  get seconds(): number {
    return this.startedAt === undefined ? 0 : Math.round((performance.now() - this.startedAt) / 1000);
  }

  /** Installs. Returns the failure when no process is left; `settle` reports it. Never rejects. */
  async run(): Promise<Error | undefined> {
    this.startedAt = performance.now();
    const { install, check } = this.installer;
    try {
      const isInstalled = check !== undefined && (await this.#exitOf(check, CHECK_MS)) === 0;
      if (!isInstalled) await this.#install(install);
      return undefined;
    } catch (error) {
      return error instanceof GatewayError ? error : new StartFailedError((error as Error).message);
    } finally {
      this.#output?.close();
    }
  }

  /** Settles `whenDone`. */
  settle(failure: Error | undefined): void {
    if (failure === undefined) this.#resolve();
    else this.#reject(failure);
  }

  /** Kills the processes. Resolves when they have exited. */
  async kill(): Promise<void> {
    this.#isKilled = true;
    this.#child?.kill();
    await this.#child?.whenGone;
  }

  async #install(launch: Launch): Promise<void> {
    const { program } = this.installer;
    const code = await this.#exitOf(launch, this.#timeoutMs);
    if (code === 0) return;
    const lines = this.#output?.lastLines ?? [];
    const line = informativeLine(lines);
    const cause = line === undefined ? '' : `; ${line}`;
    if (code === undefined) {
      const advice = 'raise install_timeout_seconds if it needs longer';
      throw new StartTimeoutError(
        `${program} did not complete the installation within ${this.#timeoutMs / 1000} s${cause}; ${advice}`,
      );
    }
    throw new StartFailedError(`${program} failed with ${code}${cause}`, lines);
  }

  /** Returns the exit code, or the name of the signal; undefined after `timeoutMs`. */
  async #exitOf(launch: Launch, timeoutMs: number): Promise<number | string | undefined> {
    // A kill leaves the folder incomplete, so the child process then moves it aside.
    const { folder: unfinished } = this.installer;
    this.#output ??= new InstallOutput(this.#redactor);
    const output = this.#output.fd;
    const child = await ChildProcess.start({ ...launch, redactor: this.#redactor, unfinished, output });
    this.#child = child;
    if (this.#isKilled) child.kill();
    child.stdin.end();
    let isOverdue = false;
    const timer = setTimeout(() => {
      isOverdue = true;
      child.kill();
    }, timeoutMs);
    const { code, signal } = await child.whenExited;
    clearTimeout(timer);
    await child.whenGone;
    return isOverdue ? undefined : (code ?? signal ?? 'no exit code');
  }
}
