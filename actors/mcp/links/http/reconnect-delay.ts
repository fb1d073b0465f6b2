// Backoff before a stream is reopened: the server's `retry:` value or 250 ms, doubled after each failure,
// up to 30 s. Jitter prevents simultaneous reconnects after an outage.

const FIRST_MS = 250;
const SHORTEST_MS = 10;
const LONGEST_MS = 30_000;

/** Returns the delay in milliseconds. `failures` counts failed attempts since the stream last worked. */
export function reconnectDelayMs(
  failures: number,
  retryMs: number | undefined,
  random = Math.random,
): number {
  const first = Math.max(SHORTEST_MS, retryMs ?? FIRST_MS);
  const longest = Math.max(LONGEST_MS, first);
  const delay = Math.min(longest, first * 2 ** failures);
  // A server's `retry` is a minimum, so jitter only extends it. Otherwise jitter shortens the delay, to half
  // at most.
  return retryMs === undefined ? delay * (0.5 + random() / 2) : Math.min(longest, delay * (1 + random() / 4));
}
