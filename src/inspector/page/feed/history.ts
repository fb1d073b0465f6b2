// Counters of the last five minutes, for the small charts. The feed sends a message every second, with the
// counters of the servers whose counters have changed. They are stored as samples, and converted to values
// per second on display.

export const SECONDS = 300;

/** Numbers at one time, for one server or for all servers. */
export interface NumbersSample {
  readonly at: number;
  readonly requests: number;
  readonly failed: number;
  readonly in_flight: number;
  readonly waiting: number;
  readonly p95: number | null;
}

export class NumbersHistory {
  readonly #samples = new Map<string, NumbersSample[]>();

  add(id: string, sample: NumbersSample): void {
    const samples = this.#samples.get(id);
    if (samples === undefined) {
      this.#samples.set(id, [sample]);
      return;
    }
    const last = samples.at(-1);
    // An additional message within a second, for example after reconnecting, replaces the previous sample.
    if (last !== undefined && sample.at - last.at < 500) samples.pop();
    samples.push(sample);
    // One sample from before the window remains: it is the value at the start of the window.
    while (samples.length > SECONDS + 1 || (samples[1]?.at ?? sample.at) < sample.at - SECONDS * 1000) {
      if (samples.length < 2) break;
      samples.shift();
    }
  }

  forget(id: string): void {
    this.#samples.delete(id);
  }

  clear(): void {
    this.#samples.clear();
  }

  get size(): number {
    return this.#samples.size;
  }

  samples(id: string): readonly NumbersSample[] {
    return this.#samples.get(id) ?? [];
  }
}

/** Values per second up to `now`, oldest first; null before the first sample. */
export interface Series {
  readonly perSecond: readonly (number | null)[];
  readonly failedPerSecond: readonly (number | null)[];
  readonly inFlight: readonly (number | null)[];
  readonly waiting: readonly (number | null)[];
  readonly p95: readonly (number | null)[];
}

/** Returns the values of the last `seconds`; `now` is the gateway's time, in epoch milliseconds. */
export function seriesOf(samples: readonly NumbersSample[], now: number, seconds = SECONDS): Series {
  // The latest sample at the end of each second.
  const slots: (NumbersSample | null)[] = [];
  let next = 0;
  for (let slot = 0; slot <= seconds; slot += 1) {
    const end = now - (seconds - slot) * 1000;
    while (next < samples.length && (samples[next]?.at ?? Number.POSITIVE_INFINITY) <= end) next += 1;
    slots.push(samples[next - 1] ?? null);
  }
  const rate = (field: 'requests' | 'failed') =>
    slots.slice(1).map((sample, index) => {
      const before = slots[index];
      if (sample === null || before === null || before === undefined) return null;
      // A counter is lower if the server or the gateway has restarted.
      return Math.max(0, sample[field] - before[field]);
    });
  const level = (field: 'in_flight' | 'waiting' | 'p95') =>
    slots.slice(1).map((sample) => (sample === null ? null : sample[field]));
  return {
    perSecond: rate('requests'),
    failedPerSecond: rate('failed'),
    inFlight: level('in_flight'),
    waiting: level('waiting'),
    p95: level('p95'),
  };
}
