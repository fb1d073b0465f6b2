// The channel between the store and its worker thread: it gathers the calls of a tick, posts them together, and gives
// each its answer.
//
// WC1  every call ends once: by its answer, at its deadline, or when the worker is lost.
// WC2  what is posted and not answered is bounded, in calls and in bytes; a call that was given up at its deadline
//      counts until its answer comes, for the worker still has it.
// WC3  after `close` the thread is gone, or is told to end if it hangs in the disk.
// WC4  turns that come with an answer for which nobody waits any more are given back at once, and cost no attempt.
// WC5  a call that cannot be posted fails alone; those that were posted with it keep their order.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import {
  type GatewayError,
  InternalError,
  OverloadedError,
  StoreFullError,
  StoreUnavailableError,
} from '../../base/errors/errors.ts';
import { Deadlines, type Waiting } from '../../base/time/deadlines.ts';
import type { Arguments, LedgerCall, Operation, Result } from '../ledger.ts';
import { givenBack, turnsGrantedBy } from '../mailboxes/granted-turns.ts';
import type { LedgerChannel } from './ledger-store.ts';
import { argumentsToPost, handOver } from './message-transfer.ts';
import type { CallsMessage, SentError, SentResult, WorkerMessage, WorkerSettings } from './store-messages.ts';
import { firstMessageOf } from './worker-start.ts';

export interface WorkerChannelOptions {
  readonly workerUrl: URL;
  readonly settings: WorkerSettings;
  readonly callTimeoutMs: number;
  readonly maxInFlight: number;
  readonly maxInFlightBytes: number;
  /** The log had lost something when the file was opened; in words. */
  readonly onDamage: (what: string) => void;
  readonly onDamagedRecord: (what: string) => void;
  /** Called for each call that was refused for want of room. */
  readonly onRefusedFull: (error: StoreFullError) => void;
  /** Called once, when the worker has ended by itself: nothing will work until the process is started anew. */
  readonly onFailed: (error: StoreUnavailableError) => void;
}

/** A file that was not closed may have a long log to be read first. */
const OPEN_TIMEOUT_MS = 60_000;
/** Closing waits no longer than a call, and not beyond this. */
const CLOSE_TIMEOUT_MS = 10_000;

/** So many calls are posted without waiting for the end of the tick, so that both threads work at the same time. */
const POSTED_TOGETHER = 16;

interface PostedCall extends Waiting<PostedCall> {
  readonly moved: readonly ArrayBuffer[];
  readonly bytes: number;
  settle(answer: SentResult): void;
}

export class WorkerChannel implements LedgerChannel {
  readonly #options: WorkerChannelOptions;
  readonly #worker: Worker;
  readonly #deadlines: Deadlines<PostedCall>;
  /** Calls of this tick, in the form in which they will be posted. */
  #gathered: LedgerCall[] = [];
  #gatheredCalls: PostedCall[] = [];
  /** Groups that were posted, oldest first; of the first one so many were answered. */
  readonly #groups: PostedCall[][] = [];
  #answered = 0;
  #inFlight = 0;
  #bytes = 0;
  #end: StoreUnavailableError | undefined;
  #closing: Promise<void> | undefined;
  readonly #listeners: (() => void)[] = [];

  private constructor(options: WorkerChannelOptions, worker: Worker) {
    this.#options = options;
    this.#worker = worker;
    this.#deadlines = new Deadlines(options.callTimeoutMs);
  }

  /** Starts the thread and waits until it has opened the file. Rejects with StoreUnavailableError. */
  static async open(options: WorkerChannelOptions): Promise<WorkerChannel> {
    const worker = new Worker(options.workerUrl, { workerData: options.settings, name: 'store' });
    const channel = new WorkerChannel(options, worker);
    await channel.#opened();
    worker.on('message', (message: WorkerMessage) => channel.#take(message));
    worker.on('error', (error) => channel.#lose(error));
    worker.on('exit', () => channel.#lose(undefined));
    return channel;
  }

  listen(onWake: () => void): void {
    this.#listeners.push(onWake);
  }

  async call<O extends Operation>(operation: O, args: Arguments<O>): Promise<Result<O>> {
    const { content, moved, bytes } = argumentsToPost(operation, args);
    const refusal = this.#refusal(bytes);
    if (refusal !== undefined) throw refusal;
    handOver(moved);
    this.#inFlight += 1;
    this.#bytes += bytes;
    if (this.#gathered.length === 0) setImmediate(() => this.#post(false));
    this.#gathered.push({ operation, args: content });
    return new Promise((resolve, reject) => {
      let isGivenUp = false;
      const call: PostedCall = {
        previous: undefined,
        next: undefined,
        dueAt: 0,
        moved,
        bytes,
        expire: () => {
          isGivenUp = true;
          reject(this.#unavailable('has not answered in time; its disk may hang'));
        },
        settle: (answer) => {
          this.#deadlines.delete(call);
          if (isGivenUp && 'result' in answer) this.#giveBack(operation, content, answer.result as Result<O>);
          if ('error' in answer) reject(this.#told(errorOf(answer.error)));
          else resolve(answer.result as Result<O>);
        },
      };
      this.#gatheredCalls.push(call);
      this.#deadlines.add(call, performance.now());
      if (this.#gathered.length >= POSTED_TOGETHER) this.#post(false);
    });
  }

  #wake(): void {
    for (const onWake of this.#listeners) onWake();
  }

  /** Waits for what was posted; of several who close all wait for the same end. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #opened(): Promise<void> {
    const message = await firstMessageOf(this.#worker, OPEN_TIMEOUT_MS).catch(async (cause: Error) => {
      await this.#worker.terminate();
      throw this.#unavailable(`could not be opened: its worker did not start: ${cause.message}`, cause);
    });
    if (message.kind === 'refused') throw errorOf(message.error);
    if (message.kind === 'opened' && message.damage !== undefined) this.#options.onDamage(message.damage);
  }

  #refusal(bytes: number): GatewayError | undefined {
    if (this.#end !== undefined) return this.#end;
    if (this.#closing !== undefined) return this.#unavailable('is closed');
    const isFull = this.#inFlight >= this.#options.maxInFlight;
    // One that is larger than the bound may pass when it is alone.
    const isHeavy = this.#bytes > 0 && this.#bytes + bytes > this.#options.maxInFlightBytes;
    return isFull || isHeavy
      ? new OverloadedError('too much is being written to the store; try again')
      : undefined;
  }

  #post(close: boolean): void {
    const message: CallsMessage = { calls: this.#gathered, close };
    const calls = this.#gatheredCalls;
    this.#gathered = [];
    this.#gatheredCalls = [];
    if ((calls.length === 0 && !close) || this.#end !== undefined) return;
    try {
      this.#worker.postMessage(
        message,
        calls.flatMap(({ moved }) => moved),
      );
    } catch {
      this.#postSingly(message, calls);
      return;
    }
    if (calls.length > 0) this.#groups.push(calls);
  }

  /** One of the calls cannot be posted, and so none was: each goes by itself, and that one alone is refused (WC5). */
  #postSingly({ calls: gathered, close }: CallsMessage, calls: readonly PostedCall[]): void {
    for (const [index, call] of calls.entries()) {
      const message: CallsMessage = { calls: gathered.slice(index, index + 1), close: false };
      try {
        this.#worker.postMessage(message, call.moved);
        this.#groups.push([call]);
      } catch (cause) {
        const error = new InternalError('something was to be stored that cannot be', { cause });
        this.#settle(call, { error });
      }
    }
    if (close) this.#worker.postMessage({ calls: [], close } satisfies CallsMessage);
  }

  #take(message: WorkerMessage): void {
    if (message.kind === 'answers') {
      for (const answer of message.answers) {
        const call = this.#nextAnswered();
        if (call !== undefined) this.#settle(call, answer);
      }
      if (message.isNews) this.#wake();
    } else if (message.kind === 'damaged') this.#options.onDamagedRecord(message.what);
    else if (message.kind === 'wake') this.#wake();
  }

  #nextAnswered(): PostedCall | undefined {
    const group = this.#groups[0];
    const call = group?.[this.#answered];
    this.#answered += 1;
    if (group !== undefined && this.#answered === group.length) {
      this.#groups.shift();
      this.#answered = 0;
    }
    return call;
  }

  #settle(call: PostedCall, answer: SentResult): void {
    this.#inFlight -= 1;
    this.#bytes -= call.bytes;
    call.settle(answer);
  }

  /** Nobody waits any more for what a late answer brings: it would stay claimed until its time is over (WC4). */
  #giveBack<O extends Operation>(operation: O, args: Arguments<O>, result: Result<O>): void {
    const results = turnsGrantedBy(operation, args, result).map(givenBack);
    if (results.length > 0) this.call('commit', [results]).catch(() => undefined);
  }

  /** The thread has ended. What it had may or may not be in the file. */
  #lose(cause: unknown): void {
    if (this.#end !== undefined) return;
    const isExpected = this.#closing !== undefined && cause === undefined;
    this.#end = this.#unavailable(
      isExpected ? 'is closed' : 'has lost its worker; the gateway must be started anew',
      cause,
    );
    const { code, message } = this.#end;
    const left = [...this.#groups.flat().slice(this.#answered), ...this.#gatheredCalls];
    this.#groups.length = 0;
    this.#answered = 0;
    for (const call of left) this.#settle(call, { error: { code, message } });
    if (!isExpected) this.#options.onFailed(this.#end);
  }

  async #close(): Promise<void> {
    if (this.#end !== undefined) return;
    const timeoutMs = Math.min(CLOSE_TIMEOUT_MS, this.#options.callTimeoutMs);
    const exit = once(this.#worker, 'exit', { signal: AbortSignal.timeout(timeoutMs) });
    this.#post(true);
    try {
      await exit;
    } catch {
      // A thread that hangs in the disk ends only when the disk lets it; nobody waits for that.
      this.#lose(undefined);
      this.#worker.terminate().catch(() => undefined);
      this.#worker.unref();
    }
  }

  #told(error: GatewayError): GatewayError {
    if (error instanceof StoreFullError) this.#options.onRefusedFull(error);
    return error;
  }

  #unavailable(what: string, cause?: unknown): StoreUnavailableError {
    return new StoreUnavailableError(`the store ${this.#options.settings.file} ${what}`, { cause });
  }
}

function errorOf({ code, message, isFull }: SentError): GatewayError {
  if (isFull === true) return new StoreFullError(message);
  if (code === 'ERR_STORE_UNAVAILABLE') return new StoreUnavailableError(message);
  return code === 'ERR_OVERLOADED' ? new OverloadedError(message) : new InternalError(message);
}
