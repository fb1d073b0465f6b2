// Channel from the main thread to the worker thread of the embedded store. Posts all calls of an event-loop
// tick together, and settles the promise of each call.
//
// A call settles once: with the result, at its timeout, or when the worker exits. Pending calls are limited
// in number and bytes; a timed-out call counts until its result arrives, because the worker still has it.
// Claims in a late result are released, and no attempt is counted. If a call cannot be posted, only this call
// fails. `close` resolves when the thread has exited, or terminates the thread if its disk hangs.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import {
  type GatewayError,
  InternalError,
  OverloadedError,
  StoreFullError,
  StoreRecordError,
  StoreUnavailableError,
} from '../../base/errors/errors.ts';
import { Deadlines, type TimedEntry } from '../../base/time/deadlines.ts';
import { releaseOf, turnsGrantedBy } from '../mailboxes/granted-turns.ts';
import type { Migration } from '../sqlite/schema.ts';
import type { OperationArguments, OperationResult, StoreCall, StoreOperation } from '../sync-store.ts';
import type { StoreChannel } from './channel-store.ts';
import { argumentsToPost, markTransferred } from './message-transfer.ts';
import type { CallsMessage, SentError, SentResult, WorkerMessage, WorkerSettings } from './store-messages.ts';
import { firstMessageOf } from './worker-start.ts';

export interface WorkerChannelOptions {
  readonly workerUrl: URL;
  readonly settings: WorkerSettings;
  readonly callTimeoutMs: number;
  readonly maxInFlight: number;
  readonly maxInFlightBytes: number;
  /** Called with a description if the write-ahead log was damaged when the file was opened. */
  readonly onDamage: (what: string) => void;
  readonly onDamagedRecord: (what: string) => void;
  /** Called if the file was migrated when it was opened. */
  readonly onMigrated: (migration: Migration) => void;
  /** Called with the recorded sum of the clock's steps when the file was opened. */
  readonly onClock: (shiftMs: number) => void;
  /** Called for each call rejected because the file cannot be read or written. */
  readonly onRejected: (error: StoreUnavailableError) => void;
  /** Called once if the worker exits unexpectedly; the store does not work until the process restarts. */
  readonly onFailed: (error: StoreUnavailableError) => void;
}

/** Opening may take long, because an unclosed file may need recovery of a large log. */
const OPEN_TIMEOUT_MS = 60_000;
/** Maximum duration of closing, further limited by the call timeout. */
const CLOSE_TIMEOUT_MS = 10_000;

/** Number of calls that are posted before the tick ends, which lets both threads work in parallel. */
const MAX_QUEUED_CALLS = 16;

interface PostedCall extends TimedEntry<PostedCall> {
  readonly transferList: readonly ArrayBuffer[];
  readonly bytes: number;
  settle(answer: SentResult): void;
}

export class WorkerChannel implements StoreChannel {
  readonly #options: WorkerChannelOptions;
  readonly #worker: Worker;
  readonly #deadlines: Deadlines<PostedCall>;
  /** Calls of this tick, as they will be posted. */
  #queue: StoreCall[] = [];
  #queuedCalls: PostedCall[] = [];
  /** Posted groups, oldest first, and the number of settled calls of the first group. */
  readonly #groups: PostedCall[][] = [];
  #settledInGroup = 0;
  #inFlight = 0;
  #bytes = 0;
  #closedError: StoreUnavailableError | undefined;
  #closing: Promise<void> | undefined;
  readonly #listeners: (() => void)[] = [];

  private constructor(options: WorkerChannelOptions, worker: Worker) {
    this.#options = options;
    this.#worker = worker;
    this.#deadlines = new Deadlines(options.callTimeoutMs);
  }

  /** Starts the thread and opens the file. Rejects with StoreUnavailableError. */
  static async open(options: WorkerChannelOptions): Promise<WorkerChannel> {
    const worker = new Worker(options.workerUrl, { workerData: options.settings, name: 'store' });
    const channel = new WorkerChannel(options, worker);
    await channel.#waitUntilOpen();
    worker.on('message', (message: WorkerMessage) => channel.#onMessage(message));
    worker.on('error', (error) => channel.#onExit(error));
    worker.on('exit', () => channel.#onExit(undefined));
    return channel;
  }

  listen(onWake: () => void): void {
    this.#listeners.push(onWake);
  }

  async call<O extends StoreOperation>(
    operation: O,
    args: OperationArguments<O>,
  ): Promise<OperationResult<O>> {
    const { content, transferList, bytes } = argumentsToPost(operation, args);
    const refusal = this.#refusal(bytes);
    if (refusal !== undefined) throw refusal;
    markTransferred(transferList);
    this.#inFlight += 1;
    this.#bytes += bytes;
    if (this.#queue.length === 0) setImmediate(() => this.#post(false));
    this.#queue.push({ operation, args: content });
    return new Promise((resolve, reject) => {
      let isTimedOut = false;
      const call: PostedCall = {
        previous: undefined,
        next: undefined,
        dueAt: 0,
        transferList,
        bytes,
        expire: () => {
          isTimedOut = true;
          reject(this.#report(this.#unavailable('did not respond in time; its disk may hang')));
        },
        settle: (answer) => {
          this.#deadlines.delete(call);
          if (isTimedOut && 'result' in answer)
            this.#releaseClaims(operation, content, answer.result as OperationResult<O>);
          if ('error' in answer) reject(this.#report(errorOf(answer.error)));
          else resolve(answer.result as OperationResult<O>);
        },
      };
      this.#queuedCalls.push(call);
      this.#deadlines.add(call, performance.now());
      if (this.#queue.length >= MAX_QUEUED_CALLS) this.#post(false);
    });
  }

  #wake(): void {
    for (const onWake of this.#listeners) onWake();
  }

  /** Closes the store after the pending calls. Repeated calls share the promise. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #waitUntilOpen(): Promise<void> {
    const message = await firstMessageOf(this.#worker, OPEN_TIMEOUT_MS).catch(async (cause: Error) => {
      await this.#worker.terminate();
      throw this.#unavailable(`could not be opened: its worker did not start: ${cause.message}`, cause);
    });
    if (message.kind === 'refused') throw errorOf(message.error);
    if (message.kind !== 'opened') return;
    if (message.damage !== undefined) this.#options.onDamage(message.damage);
    if (message.migration !== undefined) this.#options.onMigrated(message.migration);
    this.#options.onClock(message.clockShiftMs ?? 0);
  }

  #refusal(bytes: number): GatewayError | undefined {
    if (this.#closedError !== undefined) return this.#closedError;
    if (this.#closing !== undefined) return this.#unavailable('is closed');
    const isFull = this.#inFlight >= this.#options.maxInFlight;
    // A call larger than the limit is accepted if nothing else is pending.
    const isHeavy = this.#bytes > 0 && this.#bytes + bytes > this.#options.maxInFlightBytes;
    return isFull || isHeavy ? new OverloadedError('too many pending store calls; try again') : undefined;
  }

  #post(close: boolean): void {
    const message: CallsMessage = { calls: this.#queue, close };
    const calls = this.#queuedCalls;
    this.#queue = [];
    this.#queuedCalls = [];
    if ((calls.length === 0 && !close) || this.#closedError !== undefined) return;
    try {
      this.#worker.postMessage(
        message,
        calls.flatMap(({ transferList }) => transferList),
      );
    } catch {
      this.#postSingly(message, calls);
      return;
    }
    if (calls.length > 0) this.#groups.push(calls);
  }

  /** Posts calls separately when posting the group failed, to reject the invalid call only. */
  #postSingly({ calls, close }: CallsMessage, postedCalls: readonly PostedCall[]): void {
    for (const [index, call] of postedCalls.entries()) {
      const message: CallsMessage = { calls: calls.slice(index, index + 1), close: false };
      try {
        this.#worker.postMessage(message, call.transferList);
        this.#groups.push([call]);
      } catch (cause) {
        const error = new InternalError('the call contains a value that cannot be stored', { cause });
        this.#settle(call, { error });
      }
    }
    if (close) this.#worker.postMessage({ calls: [], close } satisfies CallsMessage);
  }

  #onMessage(message: WorkerMessage): void {
    if (message.kind === 'answers') {
      for (const answer of message.answers) {
        const call = this.#nextPosted();
        if (call !== undefined) this.#settle(call, answer);
      }
      if (message.isWakeDue) this.#wake();
    } else if (message.kind === 'damaged') this.#options.onDamagedRecord(message.what);
    else if (message.kind === 'wake') this.#wake();
  }

  #nextPosted(): PostedCall | undefined {
    const group = this.#groups[0];
    const call = group?.[this.#settledInGroup];
    this.#settledInGroup += 1;
    if (group !== undefined && this.#settledInGroup === group.length) {
      this.#groups.shift();
      this.#settledInGroup = 0;
    }
    return call;
  }

  #settle(call: PostedCall, answer: SentResult): void {
    this.#inFlight -= 1;
    this.#bytes -= call.bytes;
    call.settle(answer);
  }

  /** Releases the claims of a late response, which would otherwise last until the lease expires. */
  #releaseClaims<O extends StoreOperation>(
    operation: O,
    args: OperationArguments<O>,
    result: OperationResult<O>,
  ): void {
    const results = turnsGrantedBy(operation, args, result).map(releaseOf);
    if (results.length > 0) this.call('commit', [results]).catch(() => undefined);
  }

  /** Handles the exit of the thread. Rejects pending calls, whose outcome is unknown. */
  #onExit(cause: unknown): void {
    if (this.#closedError !== undefined) return;
    const isExpected = this.#closing !== undefined && cause === undefined;
    this.#closedError = this.#unavailable(
      isExpected ? 'is closed' : 'lost its worker; restart the gateway',
      cause,
    );
    const { code, message } = this.#closedError;
    const left = [...this.#groups.flat().slice(this.#settledInGroup), ...this.#queuedCalls];
    this.#groups.length = 0;
    this.#settledInGroup = 0;
    for (const call of left) this.#settle(call, { error: { code, message } });
    if (!isExpected) this.#options.onFailed(this.#closedError);
  }

  async #close(): Promise<void> {
    if (this.#closedError !== undefined) return;
    const timeoutMs = Math.min(CLOSE_TIMEOUT_MS, this.#options.callTimeoutMs);
    const exit = once(this.#worker, 'exit', { signal: AbortSignal.timeout(timeoutMs) });
    this.#post(true);
    try {
      await exit;
    } catch {
      // A thread that hangs on its disk exits only when the disk responds. Closing does not depend on it.
      this.#onExit(undefined);
      this.#worker.terminate().catch(() => undefined);
      this.#worker.unref();
    }
  }

  /** Reports an error of the file, unless it concerns a single record or the store is closing. */
  #report(error: GatewayError): GatewayError {
    if (this.#closing !== undefined || error instanceof StoreRecordError) return error;
    if (error instanceof StoreUnavailableError) this.#options.onRejected(error);
    return error;
  }

  #unavailable(what: string, cause?: unknown): StoreUnavailableError {
    return new StoreUnavailableError(`the store ${this.#options.settings.file} ${what}`, { cause });
  }
}

function errorOf({ code, message, kind }: SentError): GatewayError {
  if (kind === 'full') return new StoreFullError(message);
  if (kind === 'record') return new StoreRecordError(message);
  if (code === 'ERR_STORE_UNAVAILABLE') return new StoreUnavailableError(message);
  return code === 'ERR_OVERLOADED' ? new OverloadedError(message) : new InternalError(message);
}
