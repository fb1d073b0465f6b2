// Pauses that a server or platform requests before the next request, as in `Retry-After`.

/** Maximum respected pause: a wrong date must not block a conversation or a server for a year. */
const MAX_REQUESTED_MS = 3_600_000;
/** Number of errors of a cause chain that are searched. */
const MAX_CAUSES = 5;

/** An error whose sender requested a pause. */
export interface PauseRequest {
  /** Milliseconds; undefined without a request. */
  readonly requestedPauseMs: number | undefined;
}

/** Returns the pause within the bounds, in milliseconds. */
export function boundedPauseMs(ms: number): number {
  return Math.min(MAX_REQUESTED_MS, Math.max(0, ms));
}

/** Returns the pause requested in the error or one of its causes; 0 without one. */
export function pauseRequestedIn(error: unknown): number {
  let cause = error as (Partial<PauseRequest> & { readonly cause?: unknown }) | null | undefined;
  for (let depth = 0; depth < MAX_CAUSES && typeof cause === 'object' && cause !== null; depth += 1) {
    if (typeof cause.requestedPauseMs === 'number') return boundedPauseMs(cause.requestedPauseMs);
    cause = cause.cause as typeof cause;
  }
  return 0;
}
