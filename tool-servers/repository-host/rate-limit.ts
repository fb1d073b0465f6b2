// What the host says about its limits, read from a response: how much is left, and how long to stay away after a refusal.
// Pure; the host's clock is taken from its own `Date` header, so that a clock set wrong here does not matter.

/**
 * What counts together: `code_search` is a part of search with a limit of its own, and `write` counts as core at the host,
 * which advises a pace for it.
 */
export type Bucket = 'core' | 'write' | 'search' | 'code_search';

export type Headers = Readonly<Record<string, string | number | undefined>>;

export interface Limit {
  /** `primary`: used up until a fixed time. `secondary`: too much in a short time; concerns every request. */
  readonly kind: 'primary' | 'secondary';
  readonly waitMs: number;
}

/** The host asks for this pause where its refusal names none. */
const UNNAMED_WAIT_MS = 60_000;
const MIN_WAIT_MS = 1_000;
/** No limit of the host's is longer; what says more is a mistake. */
const MAX_WAIT_MS = 3_600_000 + 60_000;

/** The bucket a route such as `GET /search/code` counts in. */
export function bucketOf(route: string): Bucket {
  if (!route.startsWith('GET ')) return 'write';
  if (route.startsWith('GET /search/code')) return 'code_search';
  return route.startsWith('GET /search/') ? 'search' : 'core';
}

/** Whether a refusal was for too many requests, and how long to wait then; undefined when it was for something else. */
export function limitOf(status: number, headers: Headers, message: string): Limit | undefined {
  if (status !== 403 && status !== 429) return undefined;
  const named = retryAfterMs(headers);
  if (named !== undefined) {
    // A bucket that is used up may name its wait this way too; that is no pause for the others.
    const isUsedUp = usedUpMs(headers) !== undefined && !/secondary|abuse/i.test(message);
    return { kind: isUsedUp ? 'primary' : 'secondary', waitMs: named };
  }
  const isAboutLimits = status === 429 || /rate limit|abuse detection/i.test(message);
  if (!isAboutLimits) return undefined;
  const untilResetMs = usedUpMs(headers);
  return untilResetMs === undefined
    ? { kind: 'secondary', waitMs: UNNAMED_WAIT_MS }
    : { kind: 'primary', waitMs: untilResetMs };
}

/** How long nothing is left, by the headers of any response; undefined while something is. */
export function usedUpMs(headers: Headers): number | undefined {
  if (String(headers['x-ratelimit-remaining']) !== '0') return undefined;
  const resetSeconds = Number(headers['x-ratelimit-reset']);
  if (!(resetSeconds > 0)) return undefined;
  return inBounds(resetSeconds * 1000 - hostTimeMs(headers));
}

/** `Retry-After` in both its forms (RFC 9110, section 10.2.3). */
function retryAfterMs(headers: Headers): number | undefined {
  const text = String(headers['retry-after'] ?? '').trim();
  if (/^\d+$/.test(text)) return inBounds(Number(text) * 1000);
  const dateMs = Date.parse(text);
  return Number.isNaN(dateMs) ? undefined : inBounds(dateMs - hostTimeMs(headers));
}

/** Rounded down to seconds, as the header is: a wait counted from it is never too short. */
function hostTimeMs(headers: Headers): number {
  const dateMs = Date.parse(String(headers.date ?? ''));
  return Number.isNaN(dateMs) ? Date.now() - MIN_WAIT_MS : dateMs;
}

function inBounds(waitMs: number): number {
  return Math.min(Math.max(waitMs, MIN_WAIT_MS), MAX_WAIT_MS);
}
