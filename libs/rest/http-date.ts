// Parses dates of HTTP headers. `Date.parse` reads a date without a zone as local time, but the asctime form
// of an HTTP date (RFC 9110, section 5.6.7) and dates of cookies have none and are in GMT.

/** Dates with a zone, and ISO 8601, whose zone is optional. */
const IS_COMPLETE = /^\d{4}-|(?:[a-z]|[+-]\d\d:?\d\d)$/i;

/** Returns epoch milliseconds; NaN for other texts. */
export function httpDateMs(text: string): number {
  const date = text.trim();
  return Date.parse(IS_COMPLETE.test(date) ? date : `${date} GMT`);
}
