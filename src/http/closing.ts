// Closes a listener of webhooks at an address that its triggers no longer use, and lets its requests finish. Each request has a
// deadline for its body and for what it waits for, so that all of them end; a gateway that stops gives them less time.

import type { Listener } from './listener/seam.ts';

const POLL_MS = 20;

/**
 * Gives the way to close the listener: each call stops listening at once, and resolves when no request is open any more, or
 * `graceMs` after the call with the least left; then whoever is still connected is cut off.
 */
export function closing(
  listener: Pick<Listener, 'open' | 'stopListening' | 'close'>,
): (graceMs?: number) => Promise<void> {
  let deadline = Number.POSITIVE_INFINITY;
  let closed: Promise<void> | undefined;
  const close = async () => {
    while (listener.open > 0 && performance.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    listener.close();
  };
  return (graceMs = Number.POSITIVE_INFINITY) => {
    deadline = Math.min(deadline, performance.now() + graceMs);
    if (closed === undefined) {
      listener.stopListening();
      closed = close();
    }
    return closed;
  };
}
