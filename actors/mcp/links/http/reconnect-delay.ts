// How long to wait before a stream is opened again: what the server asked for with `retry:`, else 250 ms, doubled
// with each try in vain, at most 30 s. The jitter keeps many links from coming back in step after an outage.

const FIRST_MS = 250;
const SHORTEST_MS = 10;
const LONGEST_MS = 30_000;

/** Milliseconds; `failures` counts the tries in vain since the stream last worked. */
export function reconnectDelayMs(
  failures: number,
  retryMs: number | undefined,
  random = Math.random,
): number {
  const first = Math.max(SHORTEST_MS, retryMs ?? FIRST_MS);
  const longest = Math.max(LONGEST_MS, first);
  const delay = Math.min(longest, first * 2 ** failures);
  // A server's `retry` is a lower bound, so it is only ever stretched.
  return retryMs === undefined ? delay * (0.5 + random() / 2) : Math.min(longest, delay * (1 + random() / 4));
}
