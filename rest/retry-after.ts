// For how long a platform asks us to stay away, by the headers of its answer: Retry-After (RFC 9110, section 10.2.3) in both its
// forms, and the rate-limit headers that are in use.
//
// RE1  times of day are compared with the platform's own `Date`, so that a clock set wrong here does not matter: what comes out
//      is a pause from now on, in ms, for whoever counts by performance.now().
// RE2  beyond a day it is no request but a mistake, and a day it is.

const LONGEST_MS = 86_400_000;

/** As headers write it, or ISO 8601; the parser takes nearly everything with a number in it for a date. */
const DATE = /^([A-Za-z]{3,9},? |\d{4}-\d\d-\d\dT)/;

/** What is read of headers: the `Headers` of fetch, or the like. */
export interface HeaderValues {
  get(name: string): string | null;
}

export interface RateLimit {
  /** Requests that are left; undefined where the answer does not say. */
  readonly remaining: number | undefined;
  /** Until there are more of them. */
  readonly resetMs: number | undefined;
}

/** The pause that an answer asks for; undefined where it names none. */
export function retryAfterMs(headers: HeaderValues): number | undefined {
  return pauseOf(headers.get('retry-after'), hostTime(headers));
}

/** In ms from `nowMs` (epoch): seconds with or without a fraction, or a date; undefined for what says nothing. */
export function pauseOf(header: string | null | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d{1,9}(\.\d+)?$/.test(text)) return inBounds(Number(text) * 1000);
  return DATE.test(text) ? inBounds(Date.parse(text) - nowMs) : undefined;
}

/** What `X-RateLimit-*` says, or `RateLimit-*`. A reset is told as a time of day, in seconds from now, or as a date. */
export function rateLimitOf(headers: HeaderValues): RateLimit {
  const header = (name: string) => headers.get(`x-ratelimit-${name}`) ?? headers.get(`ratelimit-${name}`);
  const remaining = countOf(header('remaining'));
  const after = pauseOf(header('reset-after'), 0);
  if (after !== undefined) return { remaining, resetMs: after };
  const now = hostTime(headers);
  const reset = header('reset');
  const seconds = countOf(reset);
  const isTimeOfDay = seconds !== undefined && seconds > EPOCH_SECONDS;
  return { remaining, resetMs: isTimeOfDay ? inBounds(seconds * 1000 - now) : pauseOf(reset, now) };
}

/** Counts of seconds above it are times of day. */
const EPOCH_SECONDS = 1_000_000_000;

function countOf(header: string | null): number | undefined {
  const text = header?.trim() ?? '';
  return /^\d{1,12}(\.\d+)?$/.test(text) ? Number(text) : undefined;
}

/** When the platform answered, by its own clock where it says so. Epoch ms. */
export function hostTime(headers: HeaderValues): number {
  const time = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(time) ? Date.now() : time;
}

function inBounds(ms: number): number | undefined {
  return Number.isFinite(ms) ? Math.min(LONGEST_MS, Math.max(0, Math.ceil(ms))) : undefined;
}
