// At most so many within any span of a length: what counts is when the latest of them were, and nothing older is kept.

export interface SpanLimit {
  readonly most: number;
  readonly ms: number;
}

/** When the next one may be, after these, the earliest first; 0 where it may be at once. */
export function freeAt(times: readonly number[], { most, ms }: SpanLimit): number {
  const first = times[times.length - most];
  return first === undefined ? 0 : first + ms;
}

/** With one more, which is the latest; no more than count. */
export function withOneMore(times: readonly number[], at: number, { most }: SpanLimit): readonly number[] {
  return [...times, at].slice(-most);
}
