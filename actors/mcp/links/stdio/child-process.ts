// A local server process and its shutdown: closes stdin, sends TERM to its process group after 1 s, and KILL
// after 1 s more (A5, ARCHITECTURE.md). When the process exits by itself (a launcher such as npx), its
// descendants in the group are stopped the same way. No signal is sent to an empty group, because its number
// may be reused. Descendants that left the group (a browser, a daemon) are found by a mark in their
// environment, on systems that show the environment of processes. If the process is the client of a container
// engine, the container is ended last.

import { type ChildProcess as SpawnedProcess, spawn } from 'node:child_process';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import type { Redactor } from '../../../base/errors/redact.ts';
import { type Container, endContainer } from '../../../state/container.ts';
import { MARK_VARIABLE, parseMarks } from '../../../state/owner-mark.ts';
import { signalGroup, waitForGroupEnd } from '../../../state/process-group.ts';
import { startTimeOf } from '../../../state/process-identity.ts';
import { terminateMarked } from '../../../state/terminate-marked.ts';
import { type Launch, startFailure } from './start-failure.ts';

/** Grace periods after the end of stdin, and after TERM. */
const EOF_GRACE_MS = 1000;
const TERM_GRACE_MS = 1000;
/** Grace period after KILL. A process that still exists then hangs in the kernel and is abandoned. */
const KILL_GRACE_MS = 1000;
/** Grace period for the output to close. If it is still open then, a process outside the group uses it. */
const DRAIN_MS = 500;
/** Exit code of `docker run` and `podman run` for errors of the engine or its client. */
const ENGINE_ERROR = 125;

export interface ExitStatus {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Files that stay damaged if their writer is killed. */
export interface UnfinishedFiles {
  readonly isUnfinished: boolean;
  moveAside(): void;
}

export interface ChildOptions extends Launch {
  readonly redactor: Redactor;
  /** Files that the process may be writing. They are moved aside before it is killed. */
  readonly unfinished?: UnfinishedFiles | undefined;
  /** File descriptor for stdout and stderr. The process can write to it even after the gateway has ended. */
  readonly output?: number;
  /** Mark in the environment of the process. Without it, descendants that left the group are not found. */
  readonly mark?: string | undefined;
  /** Container that the process runs, as the client of an engine. */
  readonly container?: Container | undefined;
  /** Called if the container may still run. */
  readonly onContainerLeft?: ((error: Error) => void) | undefined;
  /** Called in the tick of the start, so that no process is missed. */
  readonly onSpawn?: ((pid: number, startTime: string | undefined) => void) | undefined;
  /**
   * Called when the process is reaped, its group is empty and its container has ended; not if the kernel does
   * not release them.
   */
  readonly onReaped?: ((pid: number) => void) | undefined;
}

export class ChildProcess {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the process has exited; descendants and output may remain. */
  readonly whenExited: Promise<ExitStatus>;
  /**
   * Resolves when the process is reaped, its group and marked descendants have exited, and the output is
   * read. Never rejects.
   */
  readonly whenGone: Promise<void>;

  readonly #closed: Promise<void>;
  readonly #onReaped: ((pid: number) => void) | undefined;
  /** Part of the mark that identifies the descendants of this process. */
  readonly #token: string | undefined;
  readonly #container: Container | undefined;
  readonly #onContainerLeft: (error: Error) => void;
  #status: ExitStatus | undefined;
  readonly #unfinished: UnfinishedFiles | undefined;
  #ending: Promise<void> | undefined;
  #isGroupGone = false;
  /** True if files were moved aside. */
  #wasWriting = false;
  /** True if the process group received a signal, because closing stdin was not enough. */
  #wasSignalled = false;
  #resolveGone: () => void = () => {};

  /** Starts the process, without a shell. Rejects with StartFailedError. */
  static async start(options: ChildOptions): Promise<ChildProcess> {
    let child: SpawnedProcess;
    const { output = 'pipe' } = options;
    try {
      child = spawn(options.command, options.args, {
        cwd: options.cwd,
        env: options.mark === undefined ? options.env : { ...options.env, [MARK_VARIABLE]: options.mark },
        stdio: ['pipe', output, output],
        detached: process.platform !== 'win32',
        windowsHide: true,
      });
    } catch (error) {
      throw startFailure(options, error as Error, options.redactor);
    }
    const { pid } = child;
    if (pid === undefined) {
      const error = await new Promise<Error>((resolve) => child.once('error', resolve));
      throw startFailure(options, error, options.redactor);
    }
    options.onSpawn?.(pid, startTimeOf(pid));
    return new ChildProcess(child, pid, options);
  }

  private constructor(
    child: SpawnedProcess,
    pid: number,
    { onReaped, mark = '', unfinished, container, onContainerLeft = () => {} }: ChildOptions,
  ) {
    this.pid = pid;
    const { stdin, stdout, stderr } = child;
    // With `output` the process writes to a file descriptor, and `child` has no streams for it.
    this.stdin = stdin ?? new PassThrough();
    this.stdout = stdout ?? new PassThrough();
    this.stderr = stderr ?? new PassThrough();
    this.#onReaped = onReaped;
    this.#token = parseMarks(mark)[0]?.token;
    this.#container = container;
    this.#onContainerLeft = onContainerLeft;
    this.#unfinished = unfinished;
    // Errors are ignored, because a broken pipe also closes the stream or ends the process.
    for (const source of [child, this.stdin, this.stdout, this.stderr]) source.on('error', () => {});
    this.whenExited = new Promise((resolve) =>
      child.once('exit', (code, signal) => {
        this.#status = { code, signal };
        resolve(this.#status);
      }),
    );
    this.#closed = new Promise((resolve) => child.once('close', () => resolve()));
    this.whenGone = new Promise((resolve) => {
      this.#resolveGone = resolve;
    });
    void this.whenExited.then(() => this.end());
  }

  /**
   * Stops the process and its descendants gracefully. Resolves after the cleanup, within about 4.5 s; with a
   * container, when its engine has responded or missed its deadline.
   */
  end(): Promise<void> {
    this.#ending ??= this.#terminate();
    return this.whenGone;
  }

  /** Kills the process and its group; `whenGone` resolves shortly after. */
  kill(): void {
    this.#moveAside();
    if (!this.#isGroupGone) signalGroup(this.pid, 'SIGKILL');
    void this.end();
  }

  async #terminate(): Promise<void> {
    this.stdin.end();
    await isSettledWithin(this.whenExited, EOF_GRACE_MS);
    const [isGone, hadMarkedProcesses] = await Promise.all([this.#endGroup(), this.#endMarked()]);
    this.#isGroupGone = isGone;
    // Processes may start others while they stop.
    if (this.#wasSignalled || hadMarkedProcesses) await this.#endMarked(false);
    // A write that was in progress may have created the folder again.
    if (this.#wasWriting && this.#unfinished?.isUnfinished === true) this.#unfinished.moveAside();
    if ((await this.#endContainer()) && isGone) this.#onReaped?.(this.pid);
    await isSettledWithin(this.#closed, DRAIN_MS);
    for (const stream of [this.stdin, this.stdout, this.stderr]) stream.destroy();
    this.#resolveGone();
  }

  async #endGroup(): Promise<boolean> {
    this.#moveAside();
    // A suspended process does not react to TERM.
    if (!signalGroup(this.pid, this.#wasWriting ? 'SIGKILL' : 'SIGTERM')) return true;
    this.#wasSignalled = true;
    if (await this.#isGoneWithin(TERM_GRACE_MS)) return true;
    return !signalGroup(this.pid, 'SIGKILL') || (await this.#isGoneWithin(KILL_GRACE_MS));
  }

  /** Ends the container. Returns false if it may still run. */
  async #endContainer(): Promise<boolean> {
    if (this.#container === undefined) return true;
    try {
      await endContainer(this.#container);
      return true;
    } catch (error) {
      // An engine that cannot be reached has not started the container.
      if (this.#status?.code === ENGINE_ERROR) return true;
      this.#onContainerLeft(error as Error);
      return false;
    }
  }

  /** Suspends a process with unfinished files, so that it writes no more, and moves the files aside. */
  #moveAside(): void {
    if (this.#status !== undefined || this.#unfinished?.isUnfinished !== true) return;
    this.#wasWriting = true;
    signalGroup(this.pid, 'SIGSTOP');
    this.#unfinished.moveAside();
  }

  /**
   * Stops marked descendants outside the group; without `hasGrace` kills them immediately. Returns true if
   * there were any.
   */
  async #endMarked(hasGrace = true): Promise<boolean> {
    const token = this.#token;
    if (token === undefined) return false;
    const terminatedProcesses = await terminateMarked(
      (marked) => marked.ofChild(token).filter(({ group }) => group !== this.pid),
      hasGrace,
    );
    return terminatedProcesses.length > 0;
  }

  async #isGoneWithin(graceMs: number): Promise<boolean> {
    const deadline = performance.now() + graceMs;
    if (!(await isSettledWithin(this.whenExited, graceMs))) return false;
    return waitForGroupEnd(this.pid, Math.max(0, deadline - performance.now()));
  }
}

function isSettledWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
    void promise.then(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}
