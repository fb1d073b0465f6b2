// A credential that expires, such as a token that a platform gives for a secret: one for all who need it, renewed before its
// end, and by one request however many ask.
//
// RO1  at most one refresh is under way; who asks meanwhile gets what comes of it.
// RO2  no value is kept beyond its time, by a clock that nobody sets.
// RO3  a value that the platform refuses is renewed once, however many had used it.
// RO4  a refresh has a deadline. While the value still holds nobody waits for one, and one that fails is no failure.

import { ConnectionError } from './connector.ts';

export interface Refreshed<T> {
  readonly value: T;
  readonly expiresInMs: number;
}

export interface RefreshOnceOptions<T> {
  /** For messages: `access token of botmessenger/42`. */
  readonly name: string;
  refresh(signal: AbortSignal): Promise<Refreshed<T>>;
  /** A value is renewed so long before its end, or in the last fifth of a life that is no longer than that. @default 300000 */
  readonly earlyMs?: number;
  /** @default 15000 */
  readonly timeoutMs?: number;
  /** Milliseconds that only grow. */
  readonly now?: () => number;
}

interface Held<T> {
  readonly value: T;
  readonly endsAt: number;
  /** From then on it is renewed; later after a refresh that failed. */
  renewAt: number;
}

const EARLY_MS = 300_000;
const TIMEOUT_MS = 15_000;
/** A platform that cannot renew it now is not asked by each message, as long as the value holds. */
const PAUSE_MS = 5_000;

export class RefreshOnce<T> {
  readonly #options: RefreshOnceOptions<T>;
  readonly #now: () => number;
  #held: Held<T> | undefined;
  #refreshing: Promise<T> | undefined;

  constructor(options: RefreshOnceOptions<T>) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Rejects as the refresh does when there is no value that holds. */
  async get(): Promise<T> {
    const held = this.#held;
    const now = this.#now();
    if (held === undefined || now >= held.endsAt) return this.#refresh();
    if (now >= held.renewAt) this.#renewBeside(held);
    return held.value;
  }

  /** The platform has refused `stale`: gives another one, which may be there already. */
  async renew(stale: T): Promise<T> {
    if (this.#held?.value === stale) this.#held = undefined;
    return this.get();
  }

  #renewBeside(held: Held<T>): void {
    // Whoever asked first sees to what comes of it.
    if (this.#refreshing !== undefined) return;
    this.#refresh().catch(() => {
      held.renewAt = this.#now() + PAUSE_MS;
    });
  }

  #refresh(): Promise<T> {
    this.#refreshing ??= this.#ask().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #ask(): Promise<T> {
    const { refresh, earlyMs = EARLY_MS } = this.#options;
    const askedAt = this.#now();
    const { value, expiresInMs } = await this.#inTime((signal) => refresh(signal));
    const lifeMs = Number.isFinite(expiresInMs) ? Math.max(0, expiresInMs) : 0;
    // Its life began when the platform answered, at the earliest when it was asked.
    const endsAt = askedAt + lifeMs;
    this.#held = { value, endsAt, renewAt: endsAt - (lifeMs > earlyMs ? earlyMs : lifeMs / 5) };
    return value;
  }

  async #inTime<R>(act: (signal: AbortSignal) => Promise<R>): Promise<R> {
    const { name, timeoutMs = TIMEOUT_MS } = this.#options;
    const ending = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(
          new ConnectionError(`the ${name} was not renewed within ${timeoutMs / 1000} s`, {
            kind: 'transient',
          }),
        );
        ending.abort();
      }, timeoutMs).unref();
    });
    try {
      return await Promise.race([act(ending.signal), late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
