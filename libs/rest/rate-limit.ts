// What a platform says about its limits: how much is left, by the headers of any answer, and for how long it takes nothing more,
// by one that refuses. Times of day are those of its own clock (retry-after.ts).

import type { ApiAnswer } from './http-api.ts';
import { type HeaderValues, hostTime, pauseOf, retryAfterMs } from './retry-after.ts';

export interface RateLimit {
  /** Requests that are left; undefined where the answer does not say. */
  readonly remaining: number | undefined;
  /** Until there are more of them. */
  readonly resetMs: number | undefined;
}

export interface Limit {
  /** `primary`: used up until a fixed time. `secondary`: too much in a short time; concerns every request. */
  readonly kind: 'primary' | 'secondary';
  readonly waitMs: number;
}

/** Platforms ask for this pause where their refusal names none. */
const UNNAMED_WAIT_MS = 60_000;
const MIN_WAIT_MS = 1_000;
/** No limit is longer; what says more is a mistake. */
const MAX_WAIT_MS = 3_600_000 + 60_000;
/** A year. More seconds than these are a time of day. */
const EPOCH_SECONDS = 31_536_000;

/** What `X-RateLimit-*` says, or `RateLimit-*`. A reset is told as a time of day, in seconds from now, or as a date. */
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

/** How long nothing is left, by the headers of any answer; undefined while something is. */
export function usedUpMs(headers: HeaderValues): number | undefined {
  const { remaining, resetMs } = rateLimitOf(headers);
  return remaining === 0 && resetMs !== undefined ? inBounds(resetMs) : undefined;
}

/** Whether a refusal was for too many requests, and how long to wait then; undefined when it was for something else. */
export function limitOf({
  status,
  headers,
  json,
}: Pick<ApiAnswer, 'status' | 'headers' | 'json'>): Limit | undefined {
  if (status !== 403 && status !== 429) return undefined;
  const { message } = (json ?? {}) as { readonly message?: unknown };
  const said = typeof message === 'string' ? message : '';
  const named = retryAfterMs(headers);
  const untilResetMs = usedUpMs(headers);
  if (named !== undefined) {
    // What is used up may name its wait this way too; that is no pause for the rest.
    const isUsedUp = untilResetMs !== undefined && !/secondary|abuse/i.test(said);
    return { kind: isUsedUp ? 'primary' : 'secondary', waitMs: inBounds(named) };
  }
  const isAboutLimits = status === 429 || /rate limit|abuse detection/i.test(said);
  if (!isAboutLimits) return undefined;
  return untilResetMs === undefined
    ? { kind: 'secondary', waitMs: UNNAMED_WAIT_MS }
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
