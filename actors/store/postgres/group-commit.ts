// Group commit: calls that come while a transaction is under way wait, and are the next one together; where many wait another one begins
// beside it, since the server carries out one transaction on one processor. Where one fails for the sake of one of its calls each half
// is tried by itself, so that the one that cannot succeed does not fail the others.
//
// PGG1  a call is answered after the commit that makes its answer true, and once.
// PGG2  what waits is bounded, in calls and in bytes; beyond that a call is refused at once.
// PGG3  calls about one key follow each other as they came: no two transactions have any of it at a time, and where two calls must not
//       share one either the second one waits.

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
  /** All in one transaction; gives what each call is answered, or the error of that call alone. */
  readonly run: (calls: readonly Argument[]) => Promise<readonly (Result | GatewayError)[]>;
  /** What a call is about. */
  readonly keys: (argument: Argument) => readonly string[];
  /** No two calls of a transaction are about the same. */
  readonly isAlone?: boolean;
  readonly maxCalls?: number;
  readonly maxBytes?: number;
}

/** Calls and bytes of one transaction, unless given; one call may have more. */
const CALLS_TOGETHER = 500;
/** Transactions under way at a time, and how many calls are enough for one beside another. */
const TRANSACTIONS = 3;
const ENOUGH_CALLS = 64;
const BYTES_TOGETHER = 8 * 1024 * 1024;
/** Calls and bytes that wait. */
const MAX_WAITING_CALLS = 10_000;
const MAX_WAITING_BYTES = 128 * 1024 * 1024;

export class GroupCommit<Argument, Result> {
  readonly #options: GroupOptions<Argument, Result>;
  #waiting: GroupCall<Argument, Result>[] = [];
  #waitingBytes = 0;
  /** What transactions under way are about. */
  readonly #busy = new Set<string>();
  readonly #underWay = new Set<Promise<void>>();
  /** How many have to wait before it is looked for what may begin beside what is under way: they may all be about just that. */
  #enough = ENOUGH_CALLS;
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
      return Promise.reject(new OverloadedError('the store has too many calls that wait; try again later'));
    const keys = this.#options.keys(argument);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ argument, keys, bytes, resolve, reject });
      this.#waitingBytes += bytes;
      this.#startSoon();
    });
  }

  /** Takes no more, and ends when nothing waits and nothing is under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    while (this.#waiting.length > 0 || this.#underWay.size > 0)
      await (this.#underWay.size === 0 ? Promise.resolve() : Promise.race(this.#underWay));
  }

  /** Calls that come in the same turn of the event loop are together. */
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
    if (this.#underWay.size === 0) return count > 0;
    return this.#underWay.size < TRANSACTIONS && count >= this.#enough;
  }

  #start(): void {
    const { calls, keys } = this.#take();
    if (calls.length < ENOUGH_CALLS) this.#enough = this.#waiting.length + ENOUGH_CALLS;
    if (calls.length === 0) return;
    for (const key of keys) this.#busy.add(key);
    const transaction = this.#commit(calls).then(() => {
      for (const key of keys) this.#busy.delete(key);
      this.#underWay.delete(transaction);
      this.#enough = ENOUGH_CALLS;
      this.#startSoon();
    });
    this.#underWay.add(transaction);
  }

  #take() {
    const { isAlone = false, maxCalls = CALLS_TOGETHER, maxBytes = BYTES_TOGETHER } = this.#options;
    const share = Math.ceil(this.#waiting.length / (TRANSACTIONS - this.#underWay.size));
    const most = Math.min(maxCalls, Math.max(ENOUGH_CALLS, share));
    const calls: GroupCall<Argument, Result>[] = [];
    const left: GroupCall<Argument, Result>[] = [];
    const taken = new Set<string>();
    const passedOver = new Set<string>();
    let bytes = 0;
    for (const call of this.#waiting) {
      const fits = calls.length < most && (calls.length === 0 || bytes + call.bytes <= maxBytes);
      const isFree = call.keys.every(
        (key) => !this.#busy.has(key) && !passedOver.has(key) && !(isAlone && taken.has(key)),
      );
      if (fits && isFree) {
        calls.push(call);
        bytes += call.bytes;
        for (const key of call.keys) taken.add(key);
      } else {
        left.push(call);
        // Whatever is left waits behind those that were there before it.
        for (const key of call.keys) passedOver.add(key);
      }
    }
    this.#waiting = left;
    this.#waitingBytes -= bytes;
    return { calls, keys: taken };
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
      // A database that is away is not there for half as many calls either; on a full disk a smaller one may have room.
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

  /** Says nothing of what was to be written: a message of the server may. */
  #failed(error: unknown): GatewayError {
    if (error instanceof GatewayError) return error;
    const { code, name } = error as { code?: unknown; name?: unknown };
    return new InternalError(`the store could not carry out ${this.#options.name}: ${String(code ?? name)}`, {
      cause: error,
    });
  }
}

export function bytesOf(events: readonly NewEvent[]): number {
  return events.reduce((sum, { body, meta }) => sum + body.byteLength + meta.length + 200, 0);
}
