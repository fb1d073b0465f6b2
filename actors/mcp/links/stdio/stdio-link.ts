// A link to a local MCP server: a process with one JSON-RPC message per line on stdin and stdout
// (specification, "Transports", stdio). The SDK's client is not used, because it has no process group and no
// size limit, and changes bytes. `onEnd` is the last event, and no process remains then (L1 and L2, link.ts),
// because `onEnd` follows `whenGone` of ChildProcess: process reaped, group empty, output read. A server that
// closes stdin or stdout is stopped.

import { markLength } from '../../../../config/reader/json-text.ts';
import {
  ConnectionLostError,
  type GatewayError,
  OverloadedError,
  type StartFailedError,
  StoppedError,
} from '../../../base/errors/errors.ts';
import type { Redactor } from '../../../base/errors/redact.ts';
import type { LargeMessage } from '../../jsonrpc/large-message.ts';
import { PacedReader } from '../http/paced-reader.ts';
import type { CallId, Link, LinkEvents } from '../link.ts';
import { type ChildOptions, ChildProcess, type ExitStatus, type UnfinishedFiles } from './child-process.ts';
import { bytesToKeep, displayLine } from './display-line.ts';
import { informativeLine } from './exit-cause.ts';
import { LineRate } from './line-rate.ts';
import { LineSplitter } from './line-splitter.ts';
import { LineWriter } from './line-writer.ts';
import { StderrTail } from './stderr-tail.ts';

const SPACE = 0x20;
const TAB = 0x09;
const CR = 0x0d;
const BRACE = 0x7b;
const BRACKET = 0x5b;

const DEFAULT_MAX_QUEUED_BYTES = 64 * 1024 * 1024;
/** Limits of log lines about noise: stdout lines that are not messages. */
const NOISE_CHARS = 200;
const NOISE_PER_SECOND = 100;

export interface StdioLinkOptions extends ChildOptions {
  /** Longer messages are dropped and reported by `onOversized`. */
  readonly maxMessageBytes: number;
  /**
   * Maximum number of bytes queued while the server does not read; above it calls fail immediately (A8,
   * ARCHITECTURE.md).
   */
  readonly maxQueuedBytes?: number | undefined;
  /** Advice for a failed start. */
  readonly advice?: string | undefined;
  /** Receives stderr lines for the log, redacted and limited to 100 per second. */
  readonly onStderr?: ((line: string) => void) | undefined;
  /** Receives stdout lines that are not messages, redacted, truncated and limited to 100 per second. */
  readonly onNoise?: ((line: string) => void) | undefined;
  /** Called after the start of the process, with a promise that resolves after its cleanup. */
  readonly onProcess?: ((whenGone: Promise<void>) => void) | undefined;
}

export class StdioLink implements Link {
  /** Number of stdout lines that were not messages. */
  noiseLines = 0;

  readonly #options: StdioLinkOptions;
  readonly #events: LinkEvents;
  readonly #redactor: Redactor;
  readonly #splitter: LineSplitter;
  readonly #tail: StderrTail;
  readonly #noiseRate: LineRate;
  #state: 'new' | 'open' | 'ending' | 'ended' = 'new';
  /** Reason why sending has stopped. */
  #reason: GatewayError = new StoppedError('the server was not started');
  /** Method by which the user of the link has stopped it; undefined before. */
  #ending: 'close' | 'kill' | undefined;
  #child: ChildProcess | undefined;
  #writer: LineWriter | undefined;
  #output: PacedReader | undefined;
  #errorOutput: PacedReader | undefined;
  #exit: ExitStatus | undefined;
  /** True after the first message of the server, which proves that the installation is complete. */
  #hasMessage = false;
  readonly #ended: Promise<void>;
  #resolveEnded: () => void = () => {};

  constructor(options: StdioLinkOptions, events: LinkEvents) {
    this.#options = options;
    this.#events = events;
    this.#redactor = options.redactor;
    this.#tail = new StderrTail(options.redactor, options.onStderr);
    this.#noiseRate = new LineRate(NOISE_PER_SECOND, options.onNoise ?? (() => {}));
    this.#splitter = new LineSplitter(options.maxMessageBytes, {
      onLine: (line) => this.#onLine(line),
      onLarge: (message) => this.#onLarge(message),
      onOversized: (size, id, requestId) => events.onOversized(size, id, requestId),
    });
    this.#ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  get pid(): number | undefined {
    return this.#state === 'ended' ? undefined : this.#child?.pid;
  }

  get advice(): string | undefined {
    return this.#options.advice;
  }

  get stderrTail(): readonly string[] {
    return this.#tail.lines;
  }

  get isOver(): boolean {
    return this.#state === 'ending' || this.#state === 'ended';
  }

  get queuedBytes(): number {
    return this.#writer?.queuedBytes ?? 0;
  }

  /** Starts the process. A failure closes the link. */
  async open(): Promise<void> {
    if (this.#state !== 'new') throw this.#reason;
    this.#state = 'open';
    let child: ChildProcess;
    try {
      child = await ChildProcess.start({ ...this.#options, unfinished: this.#unfinished() });
    } catch (error) {
      this.#stopAccepting(error as StartFailedError);
      this.#end();
      throw error;
    }
    this.#attach(child);
    if (this.#ending === undefined) return;
    // The link was closed or killed during the start.
    child.kill();
    throw this.#reason;
  }

  send(bytes: Buffer, call?: CallId): void {
    // Only the output after a ping is shortened in the stderr tail.
    this.#tail.noteMessage();
    if (this.#writer?.write(bytes, call) === true || call === undefined) return;
    const error = this.#state === 'open' ? this.#overloaded() : this.#reason;
    // Reported later, because callers expect no event during the call (L4, link.ts).
    queueMicrotask(() => this.#events.onUndelivered(call, error, false));
  }

  notePing(): void {
    this.#tail.notePing();
  }

  /** Removes a queued request. The server may already process a sent request. */
  forget(call: CallId): void {
    this.#writer?.forget(call);
  }

  ready(): void {}

  /** Pauses reading. When the pipe is full, the server blocks. */
  pause(): void {
    this.#output?.pause();
  }

  resume(): void {
    this.#output?.resume();
  }

  close(): Promise<void> {
    this.#ending ??= 'close';
    this.#writer?.flush();
    this.#stopAccepting(new StoppedError(`${this.#name()} was stopped`));
    void this.#child?.end();
    return this.#ended;
  }

  kill(): void {
    this.#ending = 'kill';
    this.#stopAccepting(new StoppedError(`${this.#name()} was killed`));
    this.#child?.kill();
  }

  #attach(child: ChildProcess): void {
    this.#child = child;
    this.#writer = new LineWriter(child.stdin, this.#options.maxQueuedBytes ?? DEFAULT_MAX_QUEUED_BYTES);
    // After `kill` all output is dropped.
    const output = new PacedReader(child.stdout, (chunk, turn) =>
      this.#ending === 'kill' ? chunk.length : this.#splitter.push(chunk, turn),
    );
    const errorOutput = new PacedReader(child.stderr, (chunk, turn) => this.#tail.push(chunk, turn));
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => errorOutput.push(chunk));
    this.#output = output;
    this.#errorOutput = errorOutput;
    child.stdin.once('close', () => this.#onPipeClosed('input'));
    child.stdout.once('close', () => this.#onPipeClosed('output'));
    void child.whenExited.then((status) => {
      this.#exit = status;
      this.#stopAccepting(this.#exitError(status));
    });
    void child.whenGone.then(() => this.#end());
    this.#options.onProcess?.(child.whenGone);
  }

  /**
   * Returns the files that a launcher such as npx writes during an installation. After the first message of
   * the server the installation is complete.
   */
  #unfinished(): UnfinishedFiles | undefined {
    const { unfinished } = this.#options;
    if (unfinished === undefined) return undefined;
    const isUnfinished = () => !this.#hasMessage && unfinished.isUnfinished;
    return {
      get isUnfinished() {
        return isUnfinished();
      },
      moveAside: () => unfinished.moveAside(),
    };
  }

  #onPipeClosed(which: 'input' | 'output'): void {
    if (this.#state !== 'open') return;
    this.#stopAccepting(new ConnectionLostError(`${this.#name()} closed its standard ${which}`));
    void this.#child?.end();
  }

  #onLine(line: Buffer): void {
    if (!isJsonStart(line)) {
      this.#onNoiseLine(line);
      return;
    }
    this.#hasMessage = true;
    this.#events.onMessage(line);
  }

  /** Delivers a large response in pieces. Any other large message is delivered like a line. */
  #onLarge(message: LargeMessage): void {
    const answer = message.answer();
    if (answer !== undefined && this.#events.onLargeAnswer !== undefined) this.#events.onLargeAnswer(answer);
    else this.#onLine(message.whole());
  }

  #onNoiseLine(line: Buffer): void {
    this.noiseLines += 1;
    const keep = bytesToKeep(NOISE_CHARS, this.#redactor);
    this.#noiseRate.offer(() =>
      displayLine(line.subarray(0, keep), NOISE_CHARS, this.#redactor, line.length > keep),
    );
  }

  #stopAccepting(reason: GatewayError): void {
    if (this.#state === 'ending' || this.#state === 'ended') return;
    const wasNew = this.#state === 'new';
    this.#state = 'ending';
    this.#reason = reason;
    for (const call of this.#writer?.close() ?? []) this.#events.onUndelivered(call, reason, false);
    if (wasNew) this.#end();
  }

  #end(): void {
    if (this.#state === 'ended') return;
    this.#output?.flush();
    this.#errorOutput?.flush();
    this.#state = 'ended';
    const rest = this.#splitter.end();
    if (rest.length > 0) this.#onNoiseLine(rest);
    this.#noiseRate.end();
    this.#tail.end();
    // The reason is computed again: only now all of stderr is read, which may explain the exit.
    if (this.#ending === undefined && this.#exit !== undefined) this.#reason = this.#exitError(this.#exit);
    this.#events.onEnd(this.#reason);
    this.#resolveEnded();
  }

  #exitError({ code, signal }: ExitStatus): ConnectionLostError {
    const how = signal === null ? `exited with code ${code}` : `was terminated by ${signal}`;
    const details = [informativeLine(this.#tail.lines), this.advice].filter((each) => each !== undefined);
    return new ConnectionLostError([`${this.#name()} ${how}`, ...details].join('; '));
  }

  #overloaded(): OverloadedError {
    return new OverloadedError(
      `${this.#name()} does not read its input: ${this.queuedBytes} bytes are queued; try again later`,
    );
  }

  #name(): string {
    const pid = this.#child === undefined ? '' : ` (pid ${this.#child.pid})`;
    return `the server process ${this.#redactor.redact(this.#options.command)}${pid}`;
  }
}

/** Returns true for an object, or an array in revisions with batches, also after a byte order mark. */
function isJsonStart(line: Buffer): boolean {
  let at = markLength(line);
  while (line[at] === SPACE || line[at] === TAB || line[at] === CR) at += 1;
  return line[at] === BRACE || line[at] === BRACKET;
}
