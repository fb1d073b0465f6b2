// Client-side rate limits. They delay requests that the host would refuse: too many searches per minute, more
// than one write per second, and requests in buckets that the host reports as exhausted.
//
// 1. Per search bucket, at most `most` requests start in each window.
// 2. A secondary rate limit (too many requests in a short time) pauses all buckets.
// 3. Only started requests are counted.

import { type Limit, usedUpMs } from '../../libs/rest/rate-limit.ts';
import { RateLimiter } from '../../libs/rest/rate-limiter.ts';
import { addTimestamp, nextAllowedAt, type WindowLimit } from '../../libs/rest/sliding-window.ts';
import type { Bucket } from './bucket.ts';

/** Slightly longer than a minute, because requests take time to reach the host. */
const MINUTE_MS = 60_000 + 1_000;
const SECOND_MS = 1_000;

export interface RateBlock {
  readonly waitMs: number;
  readonly why: 'pace' | Limit['kind'];
}

type Search = 'search' | 'code_search';
/** Buckets that the host counts; writes belong to core. */
type HostBucket = Exclude<Bucket, 'write'>;

export class RateMeter {
  /** Secondary rate limits, which apply to all buckets. */
  readonly #all = new RateLimiter(0);
  /** Primary limits: each bucket pauses while it is exhausted. */
  readonly #buckets: Readonly<Record<HostBucket, RateLimiter>> = {
    core: new RateLimiter(0),
    search: new RateLimiter(0),
    code_search: new RateLimiter(0),
  };
  readonly #writes = new RateLimiter(SECOND_MS);
  /** Search limits. The other limits are hourly and reported by the host. */
  readonly #limits: Readonly<Record<Search, WindowLimit>>;
  /** Start times of recent searches, oldest first. */
  readonly #startTimes: Record<Search, readonly number[]> = { search: [], code_search: [] };

  constructor({ hasToken }: { readonly hasToken: boolean }) {
    this.#limits = {
      search: { most: hasToken ? 30 : 10, ms: MINUTE_MS },
      code_search: { most: 10, ms: MINUTE_MS },
    };
  }

  /** Returns the reason and duration of the pause; undefined if a request may start. */
  blockOf(bucket: Bucket): RateBlock | undefined {
    const pauses = [
      { why: 'secondary', waitMs: this.#all.waitMs },
      { why: 'primary', waitMs: this.#buckets[hostBucketOf(bucket)].waitMs },
      { why: 'pace', waitMs: this.#paceMs(bucket) },
    ] as const;
    return pauses.find(({ waitMs }) => waitMs > 0);
  }

  /** Counts a request that starts now, or returns the reason to wait. */
  tryBegin(bucket: Bucket): RateBlock | undefined {
    const block = this.blockOf(bucket);
    if (block !== undefined) return block;
    if (bucket === 'write') this.#writes.reserveSlot();
    else if (isSearch(bucket))
      this.#startTimes[bucket] = addTimestamp(
        this.#startTimes[bucket],
        performance.now(),
        this.#limits[bucket],
      );
    return undefined;
  }

  /** Records the remaining quota from response headers. */
  updateFrom(bucket: Bucket, headers: Headers): void {
    const waitMs = usedUpMs(headers);
    if (waitMs !== undefined) this.#buckets[hostBucketOf(bucket)].hold(waitMs);
  }

  /** Records a rate limit response. */
  recordRefusal(bucket: Bucket, { kind, waitMs }: Limit): void {
    const limiter = kind === 'primary' ? this.#buckets[hostBucketOf(bucket)] : this.#all;
    limiter.hold(waitMs);
  }

  #paceMs(bucket: Bucket): number {
    if (bucket === 'write') return this.#writes.waitMs;
    if (!isSearch(bucket)) return 0;
    return nextAllowedAt(this.#startTimes[bucket], this.#limits[bucket]) - performance.now();
  }
}

const isSearch = (bucket: Bucket): bucket is Search => bucket === 'search' || bucket === 'code_search';

/** Returns the bucket in which the host counts. */
function hostBucketOf(bucket: Bucket): HostBucket {
  return bucket === 'write' ? 'core' : bucket;
}
