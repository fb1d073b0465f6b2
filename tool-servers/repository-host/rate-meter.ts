// Keeps this process within the host's limits, before the host has to refuse: searches are counted over the last minute,
// and a bucket of which the host says that nothing is left stays closed until it opens again.
//
// 1. Never more than `perMinute` requests of a search bucket begin within a minute.
// 2. After a refusal for too much at once, nothing begins until the pause is over, whichever call was refused.

import { type Bucket, type Headers, type Limit, usedUpMs } from './rate-limit.ts';

const MINUTE_MS = 60_000;
/** A minute here is a little longer than one at the host, for the time a request takes on its way. */
const WINDOW_MS = MINUTE_MS + 1_000;

export interface Closed {
  readonly waitMs: number;
  readonly why: 'pace' | Limit['kind'];
}

export class RateMeter {
  /** Requests a minute; the rest of the API has a limit by the hour, which the host tells. */
  readonly #perMinute: Readonly<Partial<Record<Bucket, number>>>;
  /** When the latest searches began, oldest first; at most as many as are allowed in a minute. */
  readonly #begun: Readonly<Record<Bucket, number[]>> = { core: [], search: [], code_search: [] };
  readonly #usedUpUntil: Record<Bucket, number> = { core: 0, search: 0, code_search: 0 };
  #pausedUntil = 0;

  constructor({ hasToken }: { readonly hasToken: boolean }) {
    this.#perMinute = { search: hasToken ? 30 : 10, code_search: 10 };
  }

  /** Why and how long a request of `bucket` has to wait; undefined when it may begin, which is then counted. */
  begin(bucket: Bucket): Closed | undefined {
    const now = performance.now();
    if (this.#pausedUntil > now) return { waitMs: this.#pausedUntil - now, why: 'secondary' };
    if (this.#usedUpUntil[bucket] > now) return { waitMs: this.#usedUpUntil[bucket] - now, why: 'primary' };
    const perMinute = this.#perMinute[bucket];
    if (perMinute === undefined) return undefined;
    const begun = this.#begun[bucket];
    while (begun[0] !== undefined && begun[0] <= now - WINDOW_MS) begun.shift();
    if (begun.length >= perMinute)
      return { waitMs: Math.max(1, (begun[0] ?? now) + WINDOW_MS - now), why: 'pace' };
    begun.push(now);
    return undefined;
  }

  /** Notes what the headers of a response say is left. */
  learn(bucket: Bucket, headers: Headers): void {
    const waitMs = usedUpMs(headers);
    if (waitMs !== undefined) this.#usedUpUntil[bucket] = performance.now() + waitMs;
  }

  /** Notes a refusal. */
  refused(bucket: Bucket, { kind, waitMs }: Limit): void {
    const until = performance.now() + waitMs;
    if (kind === 'primary') this.#usedUpUntil[bucket] = until;
    else this.#pausedUntil = Math.max(this.#pausedUntil, until);
  }
}
