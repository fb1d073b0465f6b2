// Keeps this process within the host's limits, before the host has to refuse: searches are counted over the last minute,
// writes leave a second between them, and a bucket of which the host says that nothing is left stays closed until it opens.
//
// 1. Never more than `most` requests of a paced bucket begin within its window.
// 2. After a refusal for too much at once, nothing begins until the pause is over, whichever call was refused.
// 3. Only what begins is counted.

import { type Limit, usedUpMs } from '../../rest/rate-limit.ts';
import type { Bucket } from './bucket.ts';

/** A minute here is a little longer than one at the host, for the time a request takes on its way. */
const MINUTE_MS = 60_000 + 1_000;
const SECOND_MS = 1_000;

export interface Closed {
  readonly waitMs: number;
  readonly why: 'pace' | Limit['kind'];
}

interface Pace {
  readonly most: number;
  readonly windowMs: number;
}

export class RateMeter {
  /** The rest of the API has a limit by the hour, which the host tells. */
  readonly #paces: Readonly<Partial<Record<Bucket, Pace>>>;
  /** When the latest requests of a paced bucket began, oldest first; at most as many as its window allows. */
  readonly #begun: Readonly<Record<Bucket, number[]>> = { core: [], write: [], search: [], code_search: [] };
  readonly #usedUpUntil: Record<Bucket, number> = { core: 0, write: 0, search: 0, code_search: 0 };
  #pausedUntil = 0;

  constructor({ hasToken }: { readonly hasToken: boolean }) {
    this.#paces = {
      write: { most: 1, windowMs: SECOND_MS },
      search: { most: hasToken ? 30 : 10, windowMs: MINUTE_MS },
      code_search: { most: 10, windowMs: MINUTE_MS },
    };
  }

  /** Why and how long a request of `bucket` has to wait; undefined when it may begin. */
  closed(bucket: Bucket): Closed | undefined {
    const now = performance.now();
    if (this.#pausedUntil > now) return { waitMs: this.#pausedUntil - now, why: 'secondary' };
    const usedUpUntil = this.#usedUpUntil[atHost(bucket)];
    if (usedUpUntil > now) return { waitMs: usedUpUntil - now, why: 'primary' };
    const pace = this.#paces[bucket];
    if (pace === undefined) return undefined;
    const begun = this.#begun[bucket];
    while (begun[0] !== undefined && begun[0] <= now - pace.windowMs) begun.shift();
    if (begun.length < pace.most) return undefined;
    return { waitMs: Math.max(1, (begun[0] ?? now) + pace.windowMs - now), why: 'pace' };
  }

  /** The same, asked just before a request is sent: one that may begin is counted. */
  begin(bucket: Bucket): Closed | undefined {
    const closed = this.closed(bucket);
    if (closed === undefined && this.#paces[bucket] !== undefined)
      this.#begun[bucket].push(performance.now());
    return closed;
  }

  /** Notes what the headers of a response say is left. */
  learn(bucket: Bucket, headers: Headers): void {
    const waitMs = usedUpMs(headers);
    if (waitMs !== undefined) this.#usedUpUntil[atHost(bucket)] = performance.now() + waitMs;
  }

  /** Notes a refusal. */
  refused(bucket: Bucket, { kind, waitMs }: Limit): void {
    const until = performance.now() + waitMs;
    if (kind === 'primary') this.#usedUpUntil[atHost(bucket)] = until;
    else this.#pausedUntil = Math.max(this.#pausedUntil, until);
  }
}

/** The bucket in which the host counts it. */
function atHost(bucket: Bucket): Bucket {
  return bucket === 'write' ? 'core' : bucket;
}
