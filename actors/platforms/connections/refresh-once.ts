// Shares an expiring credential, such as an access token, between all callers, and renews it in advance.
//
// Refreshes never overlap; concurrent callers share the result. An expired value is never returned. A value
// that the platform refused is renewed once, however many callers used it. A refresh has a deadline. While
// the old value is valid, no caller blocks on a refresh, and a failed refresh is not an error.

import { within } from '../../base/time/within.ts';
import { ConnectionError } from './connector.ts';

export interface RefreshResult<T> {
  readonly value: T;
  readonly expiresInMs: number;
}

export interface RefreshOnceOptions<T> {
  /** Name in messages: `access token of botmessenger/42`. */
  readonly name: string;
  refresh(signal: AbortSignal): Promise<RefreshResult<T>>;
  /**
   * Time before the expiry at which a value is renewed. Short-lived values are renewed after four fifths of
   * their lifetime. @default 300000
   */
  readonly earlyMs?: number;
  /** @default 15000 */
  readonly timeoutMs?: number;
  /** Monotonic clock, in milliseconds. */
  readonly now?: () => number;
}

interface CachedValue<T> {
  readonly value: T;
  readonly expiresAt: number;
  /** Next renewal time; postponed after failures. */
  renewAt: number;
}

const EARLY_MS = 300_000;
const TIMEOUT_MS = 15_000;
/** Pause after failed renewals, until the old value expires. */
const PAUSE_MS = 5_000;

export class RefreshOnce<T> {
  readonly #options: RefreshOnceOptions<T>;
  readonly #now: () => number;
  #cached: CachedValue<T> | undefined;
  #refreshing: Promise<T> | undefined;

  constructor(options: RefreshOnceOptions<T>) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Returns a valid value. Rejects if no value is valid and the refresh fails. */
  async get(): Promise<T> {
    const cached = this.#cached;
    const now = this.#now();
    if (cached === undefined || now >= cached.expiresAt) return this.#refresh();
    if (now >= cached.renewAt) this.#renewInBackground(cached);
    return cached.value;
  }

  /** Returns a value other than `stale`, which the platform refused. */
  async renew(stale: T): Promise<T> {
    if (this.#cached?.value === stale) this.#cached = undefined;
    return this.get();
  }

  #renewInBackground(cached: CachedValue<T>): void {
    // The running refresh handles its own failure.
    if (this.#refreshing !== undefined) return;
    this.#refresh().catch(() => {
      cached.renewAt = this.#now() + PAUSE_MS;
    });
  }

  #refresh(): Promise<T> {
    this.#refreshing ??= this.#request().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #request(): Promise<T> {
    const { refresh, earlyMs = EARLY_MS } = this.#options;
    const requestedAt = this.#now();
    const { value, expiresInMs } = await this.#withDeadline((signal) => refresh(signal));
    const lifeMs = Number.isFinite(expiresInMs) ? Math.max(0, expiresInMs) : 0;
    // The lifetime counts from the request, the earliest possible start.
    const expiresAt = requestedAt + lifeMs;
    this.#cached = { value, expiresAt, renewAt: expiresAt - (lifeMs > earlyMs ? earlyMs : lifeMs / 5) };
    return value;
  }

  async #withDeadline<R>(act: (signal: AbortSignal) => Promise<R>): Promise<R> {
    const { name, timeoutMs = TIMEOUT_MS } = this.#options;
    const aborting = new AbortController();
    try {
      return await within(timeoutMs, act(aborting.signal), () => {
        throw new ConnectionError(`the ${name} was not renewed within ${timeoutMs / 1000} s`, {
          kind: 'transient',
        });
      });
    } finally {
      aborting.abort();
    }
  }
}
