// How many requests the platform still takes, as it says in the headers of each answer: per kind of request and channel (or
// credential of an interaction), under names of its own, which several kinds may share; altogether, for what goes out with the
// token of the bot; and for everything, where our address as a whole is refused. What is remembered is bounded; of what is forgotten the worst is one refusal.
//
// CCB1  nothing waits here: who may not go is told when to come again (DeliveryError, too soon).
// CCB2  what is under way counts as not counted yet: a bucket is never asked for more than it has said.

import type { ApiAnswer } from '../../../libs/rest/http-api.ts';
import { rateLimitOf } from '../../../libs/rest/rate-limit.ts';
import { forgetOldest } from '../../base/bounds/forget-oldest.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { HeldBack } from '../../events/outbox/limits.ts';
import { memberOf } from '../payloads/payload-member.ts';

export interface Route {
  /** The kind of request: method and path, without ids. */
  readonly kind: string;
  /** Whose limit it is: a channel, an interaction, a server. */
  readonly major: string;
  /** Interactions are answered without the bot's token, and its limit says nothing of them. */
  readonly isOfBot: boolean;
}

interface Bucket {
  /** For an operator. */
  readonly of: string;
  /** Undefined where nothing is known. */
  remaining: number | undefined;
  /** In terms of the clock; then there are more. */
  resetAt: number;
  underWay: number;
}

const MAX_BUCKETS = 10_000;
const MAX_KINDS = 100;
const MAX_SHOWN = 20;
/** The platform rounds, and its clock is not ours. */
const SPARE_MS = 20;
/** Where a refusal names no pause. */
const UNNAMED_MS = 5_000;
const LONGEST_MS = 3_600_000;

export class RateBuckets {
  readonly #now: () => number;
  /** The platform's names by kinds of requests. */
  readonly #names = new Map<string, string>();
  readonly #buckets = new Map<string, Bucket>();
  #botHeldUntil = 0;
  #allHeldUntil = 0;

  /** Milliseconds that only grow. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Rejects as `request` does, or at once where it is too soon. */
  async run(route: Route, request: () => Promise<ApiAnswer>): Promise<ApiAnswer> {
    const bucket = this.#bucketOf(route);
    const pauseMs = this.#pauseOf(route, bucket);
    if (pauseMs > 0) throw tooSoon(pauseMs);
    if (bucket.remaining !== undefined) bucket.remaining -= 1;
    bucket.underWay += 1;
    let answer: ApiAnswer;
    try {
      answer = await request();
    } finally {
      bucket.underWay -= 1;
    }
    this.#note(route, bucket, answer);
    return answer;
  }

  /**
   * What may not go now, for an operator, the longest first. Of answers to interactions only that there are such: what tells their
   * buckets apart is a credential.
   */
  held(): readonly HeldBack[] {
    const now = this.#now();
    const pauses = new Map<string, number>([
      ['everything', this.#allHeldUntil - now],
      ['the bot', this.#botHeldUntil - now],
    ]);
    for (const { of, remaining, resetAt } of this.#buckets.values())
      if (remaining === 0) pauses.set(of, Math.max(resetAt - now, pauses.get(of) ?? 0));
    return [...pauses]
      .map(([of, ms]) => ({ of, forMs: Math.ceil(ms) }))
      .filter(({ forMs }) => forMs > 0)
      .sort((a, b) => b.forMs - a.forMs)
      .slice(0, MAX_SHOWN);
  }

  /** 0: it may go now. */
  #pauseOf({ isOfBot }: Route, bucket: Bucket): number {
    const now = this.#now();
    if (bucket.remaining !== undefined && now >= bucket.resetAt) bucket.remaining = undefined;
    const bucketMs = bucket.remaining === undefined || bucket.remaining > 0 ? 0 : bucket.resetAt - now;
    return Math.ceil(Math.max(0, bucketMs, this.#allHeldUntil - now, isOfBot ? this.#botHeldUntil - now : 0));
  }

  #note(route: Route, before: Bucket, answer: ApiAnswer): void {
    const { headers, status, json } = answer;
    const now = this.#now();
    const name = headers.get('x-ratelimit-bucket');
    if (name !== null && this.#names.get(route.kind) !== name) this.#named(route, name, before);
    const bucket = this.#bucketOf(route);
    const { remaining, resetMs } = rateLimitOf(headers);
    if (remaining !== undefined && resetMs !== undefined) {
      bucket.remaining = Math.max(0, Math.floor(remaining) - bucket.underWay);
      bucket.resetAt = now + Math.min(resetMs, LONGEST_MS) + SPARE_MS;
    }
    if (status !== 429) return;
    const until = now + Math.min(pauseAskedBy(answer) ?? UNNAMED_MS, LONGEST_MS);
    const isGlobal =
      memberOf(json, 'global') === true ||
      headers.get('x-ratelimit-global') === 'true' ||
      headers.get('x-ratelimit-scope') === 'global';
    // The edge before the platform refuses an address whole, with a page; and the limit of a bot does not count its answers to
    // interactions, so one of those that is refused for everything is refused for what both have in common.
    if (isPage(answer) || (isGlobal && !route.isOfBot))
      this.#allHeldUntil = Math.max(this.#allHeldUntil, until);
    else if (isGlobal) this.#botHeldUntil = Math.max(this.#botHeldUntil, until);
    else {
      bucket.remaining = 0;
      bucket.resetAt = Math.max(bucket.resetAt, until);
    }
  }

  /** The bucket is known under that name from now on. */
  #named({ kind, major }: Route, name: string, bucket: Bucket): void {
    this.#names.set(kind, name);
    forgetOldest(this.#names, MAX_KINDS);
    const key = `${name} ${major}`;
    if (!this.#buckets.has(key)) this.#remember(key, bucket);
  }

  #bucketOf({ kind, major, isOfBot }: Route): Bucket {
    const key = `${this.#names.get(kind) ?? kind} ${major}`;
    const bucket = this.#buckets.get(key) ?? {
      of: isOfBot ? major || 'commands' : 'answers to interactions',
      remaining: undefined,
      resetAt: 0,
      underWay: 0,
    };
    this.#remember(key, bucket);
    return bucket;
  }

  #remember(key: string, bucket: Bucket): void {
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    forgetOldest(this.#buckets, MAX_BUCKETS);
  }
}

/**
 * The pause that a refusal asks for, whole and a little more: the body has it with a fraction, one header rounded up, and where there
 * was too much another one says until when; the longest counts.
 */
export function pauseAskedBy({ status, headers, retryAfterMs, json }: ApiAnswer): number | undefined {
  const seconds = memberOf(json, 'retry_after');
  const named = typeof seconds === 'number' && seconds >= 0 ? Math.ceil(seconds * 1000) : undefined;
  const resetMs = status === 429 ? rateLimitOf(headers).resetMs : undefined;
  const asked = [named, retryAfterMs, resetMs].filter((each) => each !== undefined);
  return asked.length === 0 ? undefined : Math.ceil(Math.max(...asked)) + SPARE_MS;
}

const isPage = ({ headers }: ApiAnswer) => /^\s*text\/html\b/i.test(headers.get('content-type') ?? '');

function tooSoon(retryAfterMs: number): DeliveryError {
  return new DeliveryError('it is not yet its turn: the platform takes no more there for now', {
    isTooSoon: true,
    isUnasked: true,
    retryAfterMs,
  });
}
