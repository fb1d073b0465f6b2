// Latencies of the last calls, for the percentiles of GET /stats: a ring of fixed size, sorted on request.

const SIZE = 1024;

export interface LatencyMs {
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

export class Latency {
  #ring: Float64Array | undefined;
  #count = 0;

  /** Records a call duration, in milliseconds. */
  note(ms: number): void {
    // A server without calls needs no ring.
    this.#ring ??= new Float64Array(SIZE);
    this.#ring[this.#count++ % SIZE] = ms;
  }

  /** Percentiles over the last 1024 calls, in milliseconds; null before the first. */
  read(): LatencyMs {
    const sorted = this.#ring?.slice(0, Math.min(this.#count, SIZE)).sort();
    const at = (share: number) => {
      const value = sorted?.[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
      return value === undefined ? null : Math.round(value * 1000) / 1000;
    };
    return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
  }
}
