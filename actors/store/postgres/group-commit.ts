// Group commit: calls that come while a transaction is under way wait, and are the next one together. Where that fails for the sake of
// one of them each half is tried by itself, so that the one that cannot succeed does not fail the others.
//
// PGG1  a call is answered after the commit that makes its answer true, and once.
// PGG2  what waits is bounded, in calls and in bytes; beyond that a call is refused at once.
// PGG3  two calls about one key that must not share a transaction follow each other.

import {
  GatewayError,
  InternalError,
  OverloadedError,
  StoppedError,
  StoreFullError,
  StoreUnavailableError,
} from '../../errors.ts';
import type { NewEvent } from '../store.ts';

export interface GroupCall<Argument, Result> {
  readonly argument: Argument;
  readonly bytes: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export interface GroupOptions<Argument, Result> {
  readonly name: string;
  /** All in one transaction; gives what each call is answered, or the error of that call alone. */
  readonly run: (calls: readonly Argument[]) => Promise<readonly (Result | GatewayError)[]>;
  /** The names that no two calls of a group share. */
  readonly alone?: (argument: Argument) => readonly string[];
  readonly maxCalls?: number;
  readonly maxBytes?: number;
}

/** Calls and bytes of one transaction, unless given; one call may have more. */
const CALLS_TOGETHER = 500;
const BYTES_TOGETHER = 8 * 1024 * 1024;
/** Calls and bytes that wait. */
const MAX_WAITING_CALLS = 10_000;
const MAX_WAITING_BYTES = 128 * 1024 * 1024;

export class GroupCommit<Argument, Result> {
  readonly #options: GroupOptions<Argument, Result>;
  #waiting: GroupCall<Argument, Result>[] = [];
  #waitingBytes = 0;
  #running: Promise<void> | undefined;
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
    return new Promise((resolve, reject) => {
      this.#waiting.push({ argument, bytes, resolve, reject });
      this.#waitingBytes += bytes;
      this.#running ??= this.#drain();
    });
  }

  /** Takes no more, and ends when nothing waits and nothing is under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  async #drain(): Promise<void> {
    // Calls that come in the same turn of the event loop are together.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#commit(this.#take());
    this.#running = undefined;
  }

  #take(): readonly GroupCall<Argument, Result>[] {
    const { alone, maxCalls = CALLS_TOGETHER, maxBytes = BYTES_TOGETHER } = this.#options;
    const taken: GroupCall<Argument, Result>[] = [];
    const left: GroupCall<Argument, Result>[] = [];
    const names = new Set<string>();
    let bytes = 0;
    for (const call of this.#waiting) {
      const own = alone?.(call.argument) ?? [];
      const fits = taken.length < maxCalls && (taken.length === 0 || bytes + call.bytes <= maxBytes);
      if (!fits || own.some((name) => names.has(name))) left.push(call);
      else {
        taken.push(call);
        bytes += call.bytes;
      }
      // Whatever is left waits behind those that were there before it.
      for (const name of own) names.add(name);
    }
    this.#waiting = left;
    this.#waitingBytes -= bytes;
    return taken;
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
