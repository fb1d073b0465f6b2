// How long somebody asks us to wait (RFC 9110, section 10.2.3): seconds, or a date.

/** Beyond a day it is no request but a mistake. */
const LONGEST_MS = 86_400_000;

/** In milliseconds from `nowMs` (epoch); undefined for a header that is missing or says nothing. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isFinite(ms) ? Math.min(LONGEST_MS, Math.max(0, ms)) : undefined;
}
