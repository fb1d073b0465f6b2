// Sliding-window rate limit. Only the latest timestamps within the limit are stored.

export interface WindowLimit {
  readonly most: number;
  readonly ms: number;
}

/** Returns when the next event is allowed, given the previous timestamps in order; 0 = immediately. */
export function nextAllowedAt(times: readonly number[], { most, ms }: WindowLimit): number {
  const first = times[times.length - most];
  return first === undefined ? 0 : first + ms;
}

/** Adds a timestamp, and drops those outside the limit. */
export function addTimestamp(times: readonly number[], at: number, { most }: WindowLimit): readonly number[] {
  return [...times, at].slice(-most);
}
