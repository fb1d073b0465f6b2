// Value of the header `Idempotency-Key`. Ids of events are parts of a key, and platforms choose them; a
// header contains only visible ASCII characters.

/** Returns the key with percent-encoding for all other characters. */
export function idempotencyHeader(key: string): string {
  return key.toWellFormed().replace(/[^\x20-\x7e]+/g, encodeURIComponent);
}
