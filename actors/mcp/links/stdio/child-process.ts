// One local server as a process that leads its own process group, and the one way in which it ends, whoever wants
// it to: stdin closed, TERM to the group after 1 s, KILL to the group after 1 s more (A5). The same way is taken
// when the process exits by itself and leaves descendants in its group (a launcher such as npx).
// No signal is sent any more once the group is empty: its number may be somebody else's by then.
// What it has started and has left the group (a browser, a daemon) is found by the mark of the child, where the system shows
// it, and is ended beside the group.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Redactor } from '../../../base/errors/redact.ts';
import { endMarked } from '../../../state/end-marked.ts';
import { MARK_VARIABLE, parseMarks } from '../../../state/owner-mark.ts';
import { isGroupGone, signalGroup } from '../../../state/process-group.ts';
import { startTimeOf } from '../../../state/process-identity.ts';
import { type Launch, startFailure } from './start-failure.ts';

const EOF_GRACE_MS = 1000;
const TERM_GRACE_MS = 1000;
/** A killed process that is still there after this long hangs in the kernel; nobody can do more about it. */
const KILL_GRACE_MS = 1000;
/** Output that is still open after this long is held by a process that has left the group. */
const DRAIN_MS = 500;

export interface ExitStatus {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ChildOptions extends Launch {
  readonly redactor: Redactor;
  /** For the environment of the process; without it what leaves the process group is not followed. */
  readonly mark?: string | undefined;
  /** Called in the same tick in which the process was started, before anything else can fail. */
  readonly onSpawn?: ((pid: number, startTime: string | undefined) => void) | undefined;
  /** The process is reaped and its group is empty. Not called when the kernel would not let go of them. */
  readonly onReaped?: ((pid: number) => void) | undefined;
}

export class ChildProcess {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the process itself has exited; its descendants and its output may still be there. */
  readonly exited: Promise<ExitStatus>;
  /** Resolves when nothing is left: process reaped, group empty, what carries its mark gone, output read. Never rejects. */
  readonly gone: Promise<void>;

  readonly #closed: Promise<void>;
  readonly #onReaped: ((pid: number) => void) | undefined;
  readonly #token: string | undefined;
  #ending: Promise<void> | undefined;
  #isGroupGone = false;
  /** Its group was signalled, since the end of its stdin was not enough. */
  #wasSignalled = false;
  #resolveGone: () => void = () => {};

  /** Starts the process, without a shell. Rejects with StartFailedError. */
  static async start(options: ChildOptions): Promise<ChildProcess> {
    let child: ChildProcessWithoutNullStreams;
    try {
      child = spawn(options.command, options.args, {
        cwd: options.cwd,
        env: options.mark === undefined ? options.env : { ...options.env, [MARK_VARIABLE]: options.mark },
        stdio: ['pipe', 'pipe', 'pipe'],
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
    child: ChildProcessWithoutNullStreams,
    pid: number,
    { onReaped, mark = '' }: ChildOptions,
  ) {
    this.pid = pid;
    this.stdin = child.stdin;
    this.stdout = child.stdout;
    this.stderr = child.stderr;
    this.#onReaped = onReaped;
    this.#token = parseMarks(mark)[0]?.token;
    // A pipe that breaks is seen as the end of the stream, or of the process.
    for (const source of [child, child.stdin, child.stdout, child.stderr]) source.on('error', () => {});
    this.exited = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
    this.#closed = new Promise((resolve) => child.once('close', () => resolve()));
    this.gone = new Promise((resolve) => {
      this.#resolveGone = resolve;
    });
    void this.exited.then(() => this.end());
  }

  /** Ends the process and all that is its own gracefully. Resolves when nothing is left, within about 4.5 s at worst. */
  end(): Promise<void> {
    this.#ending ??= this.#bringDown();
    return this.gone;
  }

  /** Kills the process and its group at once; `gone` resolves a moment later. */
  kill(): void {
    if (!this.#isGroupGone) signalGroup(this.pid, 'SIGKILL');
    void this.end();
  }

  async #bringDown(): Promise<void> {
    this.stdin.end();
    await isSettledWithin(this.exited, EOF_GRACE_MS);
    const [isGone, hadEscaped] = await Promise.all([this.#endGroup(), this.#endEscaped()]);
    this.#isGroupGone = isGone;
    // What was asked to end may have started something on its way.
    if (this.#wasSignalled || hadEscaped) await this.#endEscaped(false);
    if (isGone) this.#onReaped?.(this.pid);
    await isSettledWithin(this.#closed, DRAIN_MS);
    for (const stream of [this.stdin, this.stdout, this.stderr]) stream.destroy();
    this.#resolveGone();
  }

  async #endGroup(): Promise<boolean> {
    if (!signalGroup(this.pid, 'SIGTERM')) return true;
    this.#wasSignalled = true;
    if (await this.#isGoneWithin(TERM_GRACE_MS)) return true;
    return !signalGroup(this.pid, 'SIGKILL') || (await this.#isGoneWithin(KILL_GRACE_MS));
  }

  /** True when there was something of ours outside of the group. */
  async #endEscaped(hasGrace = true): Promise<boolean> {
    const token = this.#token;
    if (token === undefined) return false;
    const ended = await endMarked(
      (marked) => marked.ofChild(token).filter(({ group }) => group !== this.pid),
      hasGrace,
    );
    return ended.length > 0;
  }

  async #isGoneWithin(graceMs: number): Promise<boolean> {
    const deadline = performance.now() + graceMs;
    if (!(await isSettledWithin(this.exited, graceMs))) return false;
    return isGroupGone(this.pid, Math.max(0, deadline - performance.now()));
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
