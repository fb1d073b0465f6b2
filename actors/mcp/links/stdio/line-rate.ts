// Limits a server's log lines per second (A6 and A8, ARCHITECTURE.md) and reports the number of omitted
// lines. This class needs no timer: the first line after a burst, or the shutdown, reports the number.

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

  /** Emits the line if the limit allows. `line` is called only then, so omitted lines cost nothing. */
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

  /** Reports the number of omitted lines. */
  end(): void {
    if (this.#hidden === 0) return;
    const count = this.#hidden;
    this.#hidden = 0;
    this.#emit(`[${count} more ${count === 1 ? 'line' : 'lines'} not shown]`);
  }
}
