// How long a run with parts has worked, and how long it has been there, waits included. Both are kept with its rows, and go on from there
// after a park or a crash.
//
// RTM1  what is left of a time never grows: a clock that was set back between two attempts counts as no time at all, and within one the
//       clock is not asked.

interface Kept {
  readonly worked_ms?: unknown;
  readonly passed_ms?: unknown;
  /** Epoch ms. */
  readonly at?: unknown;
}

export class RunTime {
  readonly #workedBefore: number;
  readonly #passedBefore: number;
  readonly #startedAt = performance.now();

  /** `state` is what was kept last; anything else counts as nothing. */
  constructor(state: string | undefined) {
    const { worked_ms, passed_ms, at } = keptIn(state);
    this.#workedBefore = positive(worked_ms);
    const since = typeof at === 'number' ? Math.max(0, Date.now() - at) : 0;
    this.#passedBefore = positive(passed_ms) + since;
  }

  /** Waiting left out. */
  get workedMs(): number {
    return this.#workedBefore + performance.now() - this.#startedAt;
  }

  /** From the first row that was kept on. */
  get passedMs(): number {
    return this.#passedBefore + performance.now() - this.#startedAt;
  }

  get state(): string {
    const [worked_ms, passed_ms] = [Math.round(this.workedMs), Math.round(this.passedMs)];
    return JSON.stringify({ worked_ms, passed_ms, at: Date.now() });
  }
}

function keptIn(state: string | undefined): Kept {
  try {
    const kept: unknown = JSON.parse(state ?? '{}');
    return typeof kept === 'object' && kept !== null ? kept : {};
  } catch {
    return {};
  }
}

const positive = (value: unknown): number => (typeof value === 'number' && value > 0 ? value : 0);
