// For how long a platform asks us to stay away: Retry-After (RFC 9110, section 10.2.3) in both its forms.
//
// RW1  times of day are compared with the platform's own `Date`, so that a clock set wrong here does not matter: what comes out
//      is a pause from now on, in ms, for whoever counts by performance.now().
// RW2  beyond a day it is no request but a mistake, and a day it is.

const LONGEST_MS = 86_400_000;

/** As headers write it, or ISO 8601; the parser takes nearly everything with a number in it for a date. */
const DATE = /^([A-Za-z]{3,9},? |\d{4}-\d\d-\d\dT)/;

/** What is read of headers: the `Headers` of fetch, or the like. */
export interface HeaderValues {
  get(name: string): string | null;
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

/** When the platform answered, by its own clock where it says so. Epoch ms. */
export function hostTime(headers: HeaderValues): number {
  const time = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(time) ? Date.now() : time;
}

function inBounds(ms: number): number | undefined {
  return Number.isFinite(ms) ? Math.min(LONGEST_MS, Math.max(0, Math.ceil(ms))) : undefined;
}
