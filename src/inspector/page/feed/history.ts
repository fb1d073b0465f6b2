// Numbers over the last minutes, for the small charts. The feed tells of a server only when something has changed, so
// what is kept are those moments; the second-by-second lines are made when somebody looks.
//
// PH1  at most five minutes are kept, and at most one sample a second and server.

export const SECONDS = 300;

/** One moment of one server, or of all together. */
export interface Sample {
  readonly at: number;
  readonly requests: number;
  readonly failed: number;
  readonly in_flight: number;
  readonly waiting: number;
  readonly p95: number | null;
}

export class History {
  readonly #samples = new Map<string, Sample[]>();

  note(id: string, sample: Sample): void {
    const samples = this.#samples.get(id);
    if (samples === undefined) {
      this.#samples.set(id, [sample]);
      return;
    }
    const last = samples.at(-1);
    if (last !== undefined && sample.at - last.at < 500) samples.pop();
    samples.push(sample);
    // The last one before the window says what held at its beginning.
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

  samples(id: string): readonly Sample[] {
    return this.#samples.get(id) ?? [];
  }
}

/** Values second by second up to `now`, oldest first; null for the time before the page has looked. */
export interface Series {
  readonly perSecond: readonly (number | null)[];
  readonly failedPerSecond: readonly (number | null)[];
  readonly inFlight: readonly (number | null)[];
  readonly waiting: readonly (number | null)[];
  readonly p95: readonly (number | null)[];
}

/** The last `seconds` of a server; `now` in epoch milliseconds of the gateway. */
export function seriesOf(samples: readonly Sample[], now: number, seconds = SECONDS): Series {
  const slots: (Sample | null)[] = [];
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
      // A counter that has fallen is another server's, or another run's.
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
