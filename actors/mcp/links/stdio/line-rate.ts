// Bounds how many lines per second a server can put into our log (A6, A8), and says how many were left out.
// Needs no timer: the count of a flood comes with the first line after it, or at the end.

const WINDOW_MS = 1000;

export class LineRate {
  readonly #perSecond: number;
  readonly #emit: (line: string) => void;
  readonly #now: () => number;
  #windowStart = Number.NEGATIVE_INFINITY;
  #shown = 0;
  #hidden = 0;

  constructor(perSecond: number, emit: (line: string) => void, now: () => number = () => performance.now()) {
    this.#perSecond = perSecond;
    this.#emit = emit;
    this.#now = now;
  }

  /** `line` is called only when the line is to be shown, so that hidden ones cost nothing. */
  offer(line: () => string): void {
    const now = this.#now();
    if (now - this.#windowStart >= WINDOW_MS) {
      this.end();
      this.#windowStart = now;
      this.#shown = 0;
    }
    if (this.#shown < this.#perSecond) {
      this.#shown += 1;
      this.#emit(line());
    } else {
      this.#hidden += 1;
    }
  }

  /** Says what was hidden and not yet told. */
  end(): void {
    if (this.#hidden === 0) return;
    const count = this.#hidden;
    this.#hidden = 0;
    this.#emit(`[${count} more ${count === 1 ? 'line' : 'lines'} not shown]`);
  }
}
