// Parses Retry-After (RFC 9110, section 10.2.3) in both formats. Dates are compared with the platform's
// `Date` header, so a wrong local clock is harmless: the result is a pause from now, in milliseconds. Pauses
// are limited to a day.

import { httpDateMs } from './http-date.ts';

const MAX_PAUSE_MS = 86_400_000;

/** A server and a proxy may both set the header; the values are then joined. */
const SECONDS = /^\d{1,30}(\.\d+)?(\s*,\s*\d{1,30}(\.\d+)?){0,9}$/;

/** HTTP dates and ISO 8601 only; `Date.parse` accepts nearly any text with a number. */
const DATE = /^([A-Za-z]{3,9},? |\d{4}-\d\d-\d\dT)/;

/** Headers of fetch, or an equivalent. */
export interface HeaderValues {
  get(name: string): string | null;
}

/** Returns the pause that a response asks for; undefined without one. */
export function retryAfterMs(headers: HeaderValues): number | undefined {
  return pauseOf(headers.get('retry-after'), hostTime(headers));
}

/** Parses seconds or a date, relative to `nowMs` (epoch). Returns milliseconds; undefined for other texts. */
export function pauseOf(header: string | null | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  if (SECONDS.test(text)) return inBounds(Math.max(...text.split(',').map(Number)) * 1000);
  return DATE.test(text) ? inBounds(httpDateMs(text) - nowMs) : undefined;
}

/** Returns the `Date` of the response in epoch milliseconds, or the local clock. */
export function hostTime(headers: HeaderValues): number {
  const time = httpDateMs(headers.get('date') ?? '');
  return Number.isNaN(time) ? Date.now() : time;
}

function inBounds(ms: number): number | undefined {
  return Number.isFinite(ms) ? Math.min(MAX_PAUSE_MS, Math.max(0, Math.ceil(ms))) : undefined;
}
