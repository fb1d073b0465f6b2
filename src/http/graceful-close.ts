// Closes a webhook listener gracefully when no trigger uses its address any longer: open requests may
// complete. Each request has deadlines, so closing always completes; a gateway that stops sets a shorter
// deadline.

import type { Listener } from './listener/seam.ts';

const POLL_MS = 20;

/**
 * Returns the close function. It stops listening, and resolves when no request is open, or after `graceMs`.
 * Then it closes the remaining connections. With repeated calls, the earliest deadline counts.
 */
export function gracefulCloser(
  listener: Pick<Listener, 'open' | 'stopListening' | 'close'>,
): (graceMs?: number) => Promise<void> {
  let deadline = Number.POSITIVE_INFINITY;
  let closing: Promise<void> | undefined;
  const close = async () => {
    while (listener.open > 0 && performance.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    listener.close();
  };
  return (graceMs = Number.POSITIVE_INFINITY) => {
    deadline = Math.min(deadline, performance.now() + graceMs);
    if (closing === undefined) {
      listener.stopListening();
      closing = close();
    }
    return closing;
  };
}
