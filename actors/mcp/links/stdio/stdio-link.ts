// A link to a local MCP server: a process whose stdin and stdout carry one JSON-RPC message per line
// (specification, "Transports", stdio). Our own framing instead of the SDK's, for the process group, the bound per
// message and the bytes as they came. L1 and L2 hold because `onEnd` waits for ChildProcess `gone`, which is:
// process reaped, group empty, output read. A server that closes its stdin or stdout is of no use and is ended.

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
import { type ChildOptions, ChildProcess, type ExitStatus } from './child-process.ts';
import { LineRate } from './line-rate.ts';
import { LineSplitter } from './line-splitter.ts';
import { LineWriter } from './line-writer.ts';
import { bytesToKeep, shownLine } from './shown-line.ts';
import { StderrTail } from './stderr-tail.ts';
import { tellingLine } from './telling-line.ts';

const DEFAULT_MAX_QUEUED_BYTES = 64 * 1024 * 1024;
const NOISE_CHARS = 200;
const NOISE_PER_SECOND = 100;

export interface StdioOptions extends ChildOptions {
  /** A longer message is reported by `onOversized` and dropped. */
  readonly maxMessageBytes: number;
  /** So much may wait for a server that does not read; beyond it calls are refused at once (A8). */
  readonly maxQueuedBytes?: number | undefined;
  /** A line of stderr for the log, redacted; at most a hundred a second. */
  readonly onStderr?: ((line: string) => void) | undefined;
  /** A line of stdout that is no message, redacted and cut; at most a hundred a second. */
  readonly onNoise?: ((line: string) => void) | undefined;
}

export class StdioLink implements Link {
  /** Lines on stdout that were no messages. */
  noiseLines = 0;

  readonly #options: StdioOptions;
  readonly #events: LinkEvents;
  readonly #redactor: Redactor;
  readonly #splitter: LineSplitter;
  readonly #tail: StderrTail;
  readonly #noiseRate: LineRate;
  #state: 'new' | 'open' | 'ending' | 'ended' = 'new';
  /** Why nothing is sent any more. */
  #reason: GatewayError = new StoppedError('the server was not started');
  /** How it was told to end; undefined where nobody has. */
  #ending: 'close' | 'kill' | undefined;
  #child: ChildProcess | undefined;
  #writer: LineWriter | undefined;
  #output: PacedReader | undefined;
  #complaints: PacedReader | undefined;
  #exit: ExitStatus | undefined;
  readonly #ended: Promise<void>;
  #resolveEnded: () => void = () => {};

  constructor(options: StdioOptions, events: LinkEvents) {
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

  get stderrTail(): readonly string[] {
    return this.#tail.lines;
  }

  get isOver(): boolean {
    return this.#state === 'ending' || this.#state === 'ended';
  }

  get queuedBytes(): number {
    return this.#writer?.queuedBytes ?? 0;
  }

  /** Starts the process. A failure ends the link as well. */
  async open(): Promise<void> {
    if (this.#state !== 'new') throw this.#reason;
    this.#state = 'open';
    let child: ChildProcess;
    try {
      child = await ChildProcess.start(this.#options);
    } catch (error) {
      this.#stopSending(error as StartFailedError);
      this.#end();
      throw error;
    }
    this.#attach(child);
    if (this.#ending === undefined) return;
    // Closed or killed while the process was being started.
    child.kill();
    throw this.#reason;
  }

  send(bytes: Buffer, call?: CallId): void {
    if (this.#writer?.write(bytes, call) === true || call === undefined) return;
    const error = this.#state === 'open' ? this.#overloaded() : this.#reason;
    queueMicrotask(() => this.#events.onUndelivered(call, error, false));
  }

  /** The server may have begun with the request; only one that has not left yet is taken back. */
  forget(call: CallId): void {
    this.#writer?.forget(call);
  }

  ready(): void {}

  /** Stops reading what the server says; it will be held up once the pipe is full. */
  pause(): void {
    this.#output?.pause();
  }

  resume(): void {
    this.#output?.resume();
  }

  close(): Promise<void> {
    this.#ending ??= 'close';
    this.#writer?.flush();
    this.#stopSending(new StoppedError(`${this.#name()} was stopped`));
    void this.#child?.end();
    return this.#ended;
  }

  kill(): void {
    this.#ending = 'kill';
    this.#stopSending(new StoppedError(`${this.#name()} was killed`));
    this.#child?.kill();
  }

  #attach(child: ChildProcess): void {
    this.#child = child;
    this.#writer = new LineWriter(child.stdin, this.#options.maxQueuedBytes ?? DEFAULT_MAX_QUEUED_BYTES);
    const output = new PacedReader(child.stdout, (chunk, turn) =>
      this.#ending === 'kill' ? chunk.length : this.#splitter.push(chunk, turn),
    );
    const complaints = new PacedReader(child.stderr, (chunk, turn) => this.#tail.push(chunk, turn));
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => complaints.push(chunk));
    this.#output = output;
    this.#complaints = complaints;
    child.stdin.once('close', () => this.#onPipeClosed('input'));
    child.stdout.once('close', () => this.#onPipeClosed('output'));
    void child.exited.then((status) => {
      this.#exit = status;
      this.#stopSending(this.#lost(status));
    });
    void child.gone.then(() => this.#end());
  }

  #onPipeClosed(which: 'input' | 'output'): void {
    if (this.#state !== 'open') return;
    this.#stopSending(new ConnectionLostError(`${this.#name()} closed its standard ${which}`));
    void this.#child?.end();
  }

  #onLine(line: Buffer): void {
    if (isJsonStart(line)) this.#events.onMessage(line);
    else this.#onNoiseLine(line);
  }

  /** What is large is an answer; anything else goes the way of all lines. */
  #onLarge(message: LargeMessage): void {
    const answer = message.answer();
    if (answer !== undefined && this.#events.onLargeAnswer !== undefined) this.#events.onLargeAnswer(answer);
    else this.#onLine(message.whole());
  }

  #onNoiseLine(line: Buffer): void {
    this.noiseLines += 1;
    const keep = bytesToKeep(NOISE_CHARS, this.#redactor);
    this.#noiseRate.offer(() =>
      shownLine(line.subarray(0, keep), NOISE_CHARS, this.#redactor, line.length > keep),
    );
  }

  #stopSending(reason: GatewayError): void {
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
    this.#complaints?.flush();
    this.#state = 'ended';
    const rest = this.#splitter.end();
    if (rest.length > 0) this.#onNoiseLine(rest);
    this.#noiseRate.end();
    this.#tail.end();
    // Only now all of stderr is read.
    if (this.#ending === undefined && this.#exit !== undefined) this.#reason = this.#lost(this.#exit);
    this.#events.onEnd(this.#reason);
    this.#resolveEnded();
  }

  #lost({ code, signal }: ExitStatus): ConnectionLostError {
    const how = signal === null ? `exited with code ${code}` : `was ended by ${signal}`;
    const said = tellingLine(this.#tail.lines);
    return new ConnectionLostError(`${this.#name()} ${how}${said === undefined ? '' : `; ${said}`}`);
  }

  #overloaded(): OverloadedError {
    return new OverloadedError(
      `${this.#name()} does not read its input: ${this.queuedBytes} bytes wait for it already; try again later`,
    );
  }

  #name(): string {
    const pid = this.#child === undefined ? '' : ` (pid ${this.#child.pid})`;
    return `the server process ${this.#redactor.redact(this.#options.command)}${pid}`;
  }
}

/** A message is a JSON object, or an array of them in the revisions that had batches. */
function isJsonStart(line: Buffer): boolean {
  let at = 0;
  while (line[at] === 0x20 || line[at] === 0x09 || line[at] === 0x0d) at += 1;
  return line[at] === 0x7b || line[at] === 0x5b;
}
