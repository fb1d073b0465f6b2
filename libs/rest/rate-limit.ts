// Reads a platform's rate limits: the remaining requests from the headers of any response, and the pause from
// a refusal. Dates are relative to the platform's clock (retry-after.ts).

import type { ApiResponse } from './http-api.ts';
import { type HeaderValues, hostTime, pauseOf, retryAfterMs } from './retry-after.ts';

export interface RateLimit {
  /** Remaining requests; undefined if the response does not contain it. */
  readonly remaining: number | undefined;
  /** Delay before the limit is reset, in milliseconds. */
  readonly resetMs: number | undefined;
}

export interface Limit {
  /**
   * `primary`: quota used up until its reset. `secondary`: too many requests in quick succession; applies to
   * all requests.
   */
  readonly kind: 'primary' | 'secondary';
  readonly waitMs: number;
}

/** Pause if a refusal announces no pause, as platforms recommend. */
const DEFAULT_WAIT_MS = 60_000;
const MIN_WAIT_MS = 1_000;
/** Maximum pause; longer ones are a mistake of the platform. */
const MAX_WAIT_MS = 3_600_000 + 60_000;
/** One year. Larger values are epoch seconds. */
const EPOCH_SECONDS = 31_536_000;

/** Reads `X-RateLimit-*` or `RateLimit-*`. A reset is an epoch time, a number of seconds, or a date. */
export function rateLimitOf(headers: HeaderValues): RateLimit {
  const header = (name: string) => headers.get(`x-ratelimit-${name}`) ?? headers.get(`ratelimit-${name}`);
  const remaining = countOf(header('remaining'));
  const after = pauseOf(header('reset-after'), 0);
  if (after !== undefined) return { remaining, resetMs: after };
  const reset = header('reset');
  const seconds = countOf(reset);
  const date = seconds !== undefined && seconds > EPOCH_SECONDS ? dateOf(seconds) : reset;
  return { remaining, resetMs: pauseOf(date, hostTime(headers)) };
}

/** Returns the delay before requests are available again; undefined if some remain. */
export function usedUpMs(headers: HeaderValues): number | undefined {
  const { remaining, resetMs } = rateLimitOf(headers);
  return remaining === 0 && resetMs !== undefined ? inBounds(resetMs) : undefined;
}

/** Returns the limit and the pause if a response is a rate-limit refusal; otherwise undefined. */
export function limitOf({
  status,
  headers,
  json,
}: Pick<ApiResponse, 'status' | 'headers' | 'json'>): Limit | undefined {
  if (status !== 403 && status !== 429) return undefined;
  const { message } = (json ?? {}) as { readonly message?: unknown };
  const text = typeof message === 'string' ? message : '';
  const announcedMs = retryAfterMs(headers);
  const untilResetMs = usedUpMs(headers);
  if (announcedMs !== undefined) {
    // A primary limit may use Retry-After too; other requests need not wait then.
    const isUsedUp = untilResetMs !== undefined && !/secondary|abuse/i.test(text);
    return { kind: isUsedUp ? 'primary' : 'secondary', waitMs: inBounds(announcedMs) };
  }
  const isAboutLimits = status === 429 || /rate limit|abuse detection/i.test(text);
  if (!isAboutLimits) return undefined;
  return untilResetMs === undefined
    ? { kind: 'secondary', waitMs: DEFAULT_WAIT_MS }
    : { kind: 'primary', waitMs: untilResetMs };
}

function countOf(header: string | null): number | undefined {
  const text = header?.trim() ?? '';
  return /^\d{1,12}(\.\d+)?$/.test(text) ? Number(text) : undefined;
}

function dateOf(epochSeconds: number): string {
  return new Date(epochSeconds * 1000).toISOString();
}

function inBounds(waitMs: number): number {
  return Math.min(Math.max(waitMs, MIN_WAIT_MS), MAX_WAIT_MS);
}
