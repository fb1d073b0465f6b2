// Pauses that a server or platform requests before the next request, as in `Retry-After`.

import { causesOf } from './error-causes.ts';

/** Maximum respected pause: a wrong date must not block a conversation or a server for a year. */
const MAX_REQUESTED_MS = 3_600_000;

/** An error whose sender requested a pause. */
export interface PauseRequest {
  /** Milliseconds; undefined without a request. */
  readonly requestedPauseMs: number | undefined;
}

/** Returns the pause within the bounds, in milliseconds. */
export function boundedPauseMs(ms: number): number {
  return Math.min(MAX_REQUESTED_MS, Math.max(0, ms));
}

/** Returns the pause requested in the error or a cause; 0 without one. */
export function pauseRequestedIn(error: unknown): number {
  for (const cause of causesOf(error)) {
    const { requestedPauseMs } = cause as Partial<PauseRequest>;
    if (typeof requestedPauseMs === 'number') return boundedPauseMs(requestedPauseMs);
  }
  return 0;
}
