// Group commit: calls that arrive during a transaction run together in the next one. A transaction uses a
// single processor of the server, so with many waiting calls several transactions run in parallel. If a group
// fails, each half is retried separately, to isolate the failing call. A call resolves when it is committed.
// Waiting calls are limited in number and bytes. Calls with a common key run in order, since parallel
// transactions have no common key.

import {
  GatewayError,
  InternalError,
  OverloadedError,
  StoppedError,
  StoreFullError,
  StoreUnavailableError,
} from '../../base/errors/errors.ts';
import type { NewEvent } from '../event.ts';

export interface GroupCall<Argument, Result> {
  readonly argument: Argument;
  readonly keys: readonly string[];
  readonly bytes: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export interface GroupOptions<Argument, Result> {
  readonly name: string;
  /** Runs calls in one transaction. Returns a result or an error per call. */
  readonly run: (calls: readonly Argument[]) => Promise<readonly (Result | GatewayError)[]>;
  /** Returns the call's keys. */
  readonly keys: (argument: Argument) => readonly string[];
  /** True if calls in a transaction must have different keys. */
  readonly hasDistinctKeys?: boolean;
  readonly maxCalls?: number;
  readonly maxBytes?: number;
}

/** Default transaction limits. A single call may exceed them. */
const MAX_GROUP_CALLS = 500;
const MAX_GROUP_BYTES = 8 * 1024 * 1024;
/** Maximum number of parallel transactions. */
const MAX_TRANSACTIONS = 3;
const MIN_PARALLEL_CALLS = 64;
/** Limits of waiting calls. */
const MAX_WAITING_CALLS = 10_000;
const MAX_WAITING_BYTES = 128 * 1024 * 1024;

export class GroupCommit<Argument, Result> {
  readonly #options: GroupOptions<Argument, Result>;
  #waiting: GroupCall<Argument, Result>[] = [];
  #waitingBytes = 0;
  /** Keys of running transactions. */
  readonly #busy = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  /**
   * Number of waiting calls that starts a further transaction. Raised if most waiting calls cannot run,
   * because running transactions use their keys.
   */
  #parallelThreshold = MIN_PARALLEL_CALLS;
  #isStarting = false;
  #isClosed = false;

  constructor(options: GroupOptions<Argument, Result>) {
    this.#options = options;
  }

  call(argument: Argument, bytes: number): Promise<Result> {
    if (this.#isClosed) return Promise.reject(new StoppedError('the store is closed'));
    if (
      this.#waiting.length >= MAX_WAITING_CALLS ||
      (this.#waiting.length > 0 && this.#waitingBytes + bytes > MAX_WAITING_BYTES)
    )
      return Promise.reject(new OverloadedError('too many pending store calls; try again later'));
    const keys = this.#options.keys(argument);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ argument, keys, bytes, resolve, reject });
      this.#waitingBytes += bytes;
      this.#startSoon();
    });
  }

  /** Rejects new calls. Resolves when all pending calls have completed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    while (this.#waiting.length > 0 || this.#running.size > 0)
      await (this.#running.size === 0 ? Promise.resolve() : Promise.race(this.#running));
  }

  /** Starts transactions in the next microtask, for all calls made before it. */
  #startSoon(): void {
    if (this.#isStarting || !this.#mayStart) return;
    this.#isStarting = true;
    queueMicrotask(() => {
      this.#isStarting = false;
      while (this.#mayStart) this.#start();
    });
  }

  get #mayStart(): boolean {
    const count = this.#waiting.length;
    if (this.#running.size === 0) return count > 0;
    return this.#running.size < MAX_TRANSACTIONS && count >= this.#parallelThreshold;
  }

  #start(): void {
    const { calls, keys } = this.#take();
    if (calls.length < MIN_PARALLEL_CALLS)
      this.#parallelThreshold = this.#waiting.length + MIN_PARALLEL_CALLS;
    if (calls.length === 0) return;
    for (const key of keys) this.#busy.add(key);
    const transaction = this.#commit(calls).then(() => {
      for (const key of keys) this.#busy.delete(key);
      this.#running.delete(transaction);
      this.#parallelThreshold = MIN_PARALLEL_CALLS;
      this.#startSoon();
    });
    this.#running.add(transaction);
  }

  #take() {
    const { hasDistinctKeys = false, maxCalls = MAX_GROUP_CALLS, maxBytes = MAX_GROUP_BYTES } = this.#options;
    const share = Math.ceil(this.#waiting.length / (MAX_TRANSACTIONS - this.#running.size));
    const most = Math.min(maxCalls, Math.max(MIN_PARALLEL_CALLS, share));
    const calls: GroupCall<Argument, Result>[] = [];
    const remaining: GroupCall<Argument, Result>[] = [];
    const takenKeys = new Set<string>();
    const blockedKeys = new Set<string>();
    let bytes = 0;
    for (const call of this.#waiting) {
      const fits = calls.length < most && (calls.length === 0 || bytes + call.bytes <= maxBytes);
      const isFree = call.keys.every(
        (key) => !this.#busy.has(key) && !blockedKeys.has(key) && !(hasDistinctKeys && takenKeys.has(key)),
      );
      if (fits && isFree) {
        calls.push(call);
        bytes += call.bytes;
        for (const key of call.keys) takenKeys.add(key);
      } else {
        remaining.push(call);
        // Preserves the order of calls with a common key.
        for (const key of call.keys) blockedKeys.add(key);
      }
    }
    this.#waiting = remaining;
    this.#waitingBytes -= bytes;
    return { calls, keys: takenKeys };
  }

  async #commit(calls: readonly GroupCall<Argument, Result>[]): Promise<void> {
    try {
      const results = await this.#options.run(calls.map(({ argument }) => argument));
      for (const [index, { resolve, reject }] of calls.entries()) {
        const result = results[index] as Result | GatewayError;
        if (result instanceof GatewayError) reject(result);
        else resolve(result);
      }
    } catch (error) {
      // Without a database smaller groups fail as well. On a full disk a smaller group may fit.
      if (error instanceof StoreUnavailableError && !(error instanceof StoreFullError)) {
        for (const { reject } of calls) reject(error);
      } else if (calls.length === 1) calls[0]?.reject(this.#failed(error));
      else {
        const half = calls.length >> 1;
        await this.#commit(calls.slice(0, half));
        await this.#commit(calls.slice(half));
      }
    }
  }

  /** Omits the server's message, which may contain the data to be written. */
  #failed(error: unknown): GatewayError {
    if (error instanceof GatewayError) return error;
    const { code, name } = error as { code?: unknown; name?: unknown };
    return new InternalError(`store operation ${this.#options.name} failed: ${String(code ?? name)}`, {
      cause: error,
    });
  }
}

export function bytesOf(events: readonly NewEvent[]): number {
  return events.reduce((sum, { body, meta }) => sum + body.byteLength + meta.length + 200, 0);
}
