// Rate limit for a page's console messages. This process reads each message, so an endless stream would fill
// its memory. Allows bursts. Uses the timestamps of the messages, so a slow reader does not trigger the
// limit.

const BURST_LINES = 5_000;
const LINES_PER_SECOND = 1_000;
/** A line with this many characters counts as two. */
const LINE_CHARS = 10_000;

/** Completes "The page was closed: …" (session.ts). */
export const FLOOD_REASON = `it wrote more than ${LINES_PER_SECOND} lines per second to the console`;

/** Token bucket; a token permits one line. */
export class ConsoleFlood {
  #tokens = BURST_LINES;
  /** Time of the last line; infinite before the first, so that the first line adds no tokens. */
  #lastMs = Number.POSITIVE_INFINITY;

  /** Counts a line written at `atMs`. Returns true if it exceeds the limit. */
  add(chars: number, atMs: number): boolean {
    const elapsedMs = Math.max(0, atMs - this.#lastMs);
    this.#lastMs = atMs;
    this.#tokens = Math.min(BURST_LINES, this.#tokens + (elapsedMs / 1000) * LINES_PER_SECOND);
    this.#tokens -= 1 + chars / LINE_CHARS;
    return this.#tokens < 0;
  }
}
