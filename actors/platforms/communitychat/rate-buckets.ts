// Tracks the rate limits in the platform's response headers. A limit applies to a bucket (a kind of request
// in a channel or for an interaction), to the bot token, or to the IP address. Several kinds of requests may
// share a bucket; the headers contain its name. Memory is bounded; evicting a bucket costs one refused
// request at worst.
//
// Requests above a limit are not delayed but rejected, with a retry delay. Requests in progress count as
// used, so that concurrent requests never exceed a bucket.

import type { ApiResponse } from '../../../libs/rest/http-api.ts';
import { rateLimitOf } from '../../../libs/rest/rate-limit.ts';
import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { SendPause } from '../../events/outbox/limits.ts';
import { memberOf } from '../payloads/payload-member.ts';

export interface RateRoute {
  /** Method and path without ids. */
  readonly kind: string;
  /** Owner of the limit: a channel, an interaction or a server. */
  readonly major: string;
  /** False for replies to interactions, which do not use the bot token and its limit. */
  readonly isOfBot: boolean;
}

interface RateBucket {
  /** Name for operators. */
  readonly label: string;
  /** Requests that may still be sent; undefined if unknown. */
  remaining: number | undefined;
  /** Next reset time, on the clock of the constructor. */
  resetAt: number;
  inProgress: number;
}

const MAX_BUCKETS = 10_000;
const MAX_KINDS = 100;
const MAX_LISTED = 20;
/** Margin for rounding and clock differences. */
const SPARE_MS = 20;
/** Pause for refusals that name no retry delay. */
const DEFAULT_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 3_600_000;

export class RateBuckets {
  readonly #now: () => number;
  /** Bucket names of the platform, by kind of request. */
  readonly #names = new Map<string, string>();
  readonly #buckets = new Map<string, RateBucket>();
  #botBlockedUntil = 0;
  #allBlockedUntil = 0;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Sends the request. Rejects if `request` does, or immediately if a limit is reached. */
  async run(route: RateRoute, request: () => Promise<ApiResponse>): Promise<ApiResponse> {
    const bucket = this.#bucketOf(route);
    const pauseMs = this.#pauseOf(route, bucket);
    if (pauseMs > 0) throw rateLimitError(pauseMs);
    if (bucket.remaining !== undefined) bucket.remaining -= 1;
    bucket.inProgress += 1;
    let response: ApiResponse;
    try {
      response = await request();
    } finally {
      bucket.inProgress -= 1;
    }
    this.#update(route, bucket, response);
    return response;
  }

  /**
   * Returns the exceeded limits for operators, the longest first. Limits of interactions share one name,
   * because their keys are credentials.
   */
  exceededLimits(): readonly SendPause[] {
    const now = this.#now();
    const pauses = new Map<string, number>([
      ['everything', this.#allBlockedUntil - now],
      ['the bot', this.#botBlockedUntil - now],
    ]);
    for (const { label, remaining, resetAt } of this.#buckets.values())
      if (remaining === 0) pauses.set(label, Math.max(resetAt - now, pauses.get(label) ?? 0));
    return [...pauses]
      .map(([of, ms]) => ({ of, forMs: Math.ceil(ms) }))
      .filter(({ forMs }) => forMs > 0)
      .sort((a, b) => b.forMs - a.forMs)
      .slice(0, MAX_LISTED);
  }

  /** Returns the pause before the request may be sent; 0 if it may be sent now. */
  #pauseOf({ isOfBot }: RateRoute, bucket: RateBucket): number {
    const now = this.#now();
    if (bucket.remaining !== undefined && now >= bucket.resetAt) bucket.remaining = undefined;
    const bucketMs = bucket.remaining === undefined || bucket.remaining > 0 ? 0 : bucket.resetAt - now;
    return Math.ceil(
      Math.max(0, bucketMs, this.#allBlockedUntil - now, isOfBot ? this.#botBlockedUntil - now : 0),
    );
  }

  #update(route: RateRoute, previousBucket: RateBucket, response: ApiResponse): void {
    const { headers, status, json } = response;
    const now = this.#now();
    const name = headers.get('x-ratelimit-bucket');
    if (name !== null && this.#names.get(route.kind) !== name) this.#setName(route, name, previousBucket);
    const bucket = this.#bucketOf(route);
    const { remaining, resetMs } = rateLimitOf(headers);
    if (remaining !== undefined && resetMs !== undefined) {
      bucket.remaining = Math.max(0, Math.floor(remaining) - bucket.inProgress);
      bucket.resetAt = now + Math.min(resetMs, MAX_PAUSE_MS) + SPARE_MS;
    }
    if (status !== 429) return;
    const until = now + Math.min(retryDelayOf(response) ?? DEFAULT_PAUSE_MS, MAX_PAUSE_MS);
    const isGlobal =
      memberOf(json, 'global') === true ||
      headers.get('x-ratelimit-global') === 'true' ||
      headers.get('x-ratelimit-scope') === 'global';
    // An HTML page instead of JSON means that the IP address is blocked. The global limit of the bot excludes
    // replies to interactions, so a global refusal of a reply concerns the IP address too.
    if (isPage(response) || (isGlobal && !route.isOfBot))
      this.#allBlockedUntil = Math.max(this.#allBlockedUntil, until);
    else if (isGlobal) this.#botBlockedUntil = Math.max(this.#botBlockedUntil, until);
    else {
      bucket.remaining = 0;
      bucket.resetAt = Math.max(bucket.resetAt, until);
    }
  }

  /** Sets the bucket name for a kind of request. */
  #setName({ kind, major }: RateRoute, name: string, bucket: RateBucket): void {
    this.#names.set(kind, name);
    deleteOldest(this.#names, MAX_KINDS);
    const key = `${name} ${major}`;
    if (!this.#buckets.has(key)) this.#remember(key, bucket);
  }

  #bucketOf({ kind, major, isOfBot }: RateRoute): RateBucket {
    const key = `${this.#names.get(kind) ?? kind} ${major}`;
    const bucket = this.#buckets.get(key) ?? {
      label: isOfBot ? major || 'commands' : 'answers to interactions',
      remaining: undefined,
      resetAt: 0,
      inProgress: 0,
    };
    this.#remember(key, bucket);
    return bucket;
  }

  #remember(key: string, bucket: RateBucket): void {
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    deleteOldest(this.#buckets, MAX_BUCKETS);
  }
}

/**
 * Returns the retry delay of a refusal, rounded up. The body contains a fraction, one header is rounded up,
 * and another contains the reset time; the longest applies.
 */
export function retryDelayOf({ status, headers, retryAfterMs, json }: ApiResponse): number | undefined {
  const seconds = memberOf(json, 'retry_after');
  const bodyMs = typeof seconds === 'number' && seconds >= 0 ? Math.ceil(seconds * 1000) : undefined;
  const resetMs = status === 429 ? rateLimitOf(headers).resetMs : undefined;
  const delays = [bodyMs, retryAfterMs, resetMs].filter((each) => each !== undefined);
  return delays.length === 0 ? undefined : Math.ceil(Math.max(...delays)) + SPARE_MS;
}

const isPage = ({ headers }: ApiResponse) => /^\s*text\/html\b/i.test(headers.get('content-type') ?? '');

function rateLimitError(retryAfterMs: number): DeliveryError {
  return new DeliveryError('rate limited: waiting for a send slot', {
    isRateLimited: true,
    isUncontacted: true,
    retryAfterMs,
  });
}
