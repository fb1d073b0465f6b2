// How much one page writes to the console. What it writes has to be read, by this program, line by line; a page that writes
// without end would fill the memory of this program with what waits. So it may write a lot at once, and little for long.
//
// 1. Measured is when the page wrote, not when this program came to read it: a slow machine makes no flood.

const BURST_LINES = 5_000;
const LINES_PER_SECOND = 1_000;
/** A line this long counts as two. */
const LINE_CHARS = 10_000;

export const FLOOD = `it wrote more than ${LINES_PER_SECOND} lines a second to the console`;

/** A bucket of lines that fills up again over time. */
export class ConsoleFlood {
  #left = BURST_LINES;
  #lastMs = Number.POSITIVE_INFINITY;

  /** Whether this line, which was written at `atMs`, is one too many. */
  add(chars: number, atMs: number): boolean {
    const elapsedMs = Math.max(0, atMs - this.#lastMs);
    this.#lastMs = atMs;
    this.#left = Math.min(BURST_LINES, this.#left + (elapsedMs / 1000) * LINES_PER_SECOND);
    this.#left -= 1 + chars / LINE_CHARS;
    return this.#left < 0;
  }
}
