// Recognises the stderr lines that a server writes for each health ping: Python servers log every request.
// These lines would fill the log of an idle server. A line counts as repeated if it arrives within WINDOW_MS
// after a ping, and a line that differs only in digits (times, counters) arrived after an earlier ping. Only
// the first such line is shown. This class needs no timer.

/** The line may arrive after the response to the ping, because it has a different pipe. */
const WINDOW_MS = 1_000;
/** Maximum number of different lines; the first remain. */
const MAX_LINES = 16;
const MAX_BYTES = 500;

export class PingLines {
  readonly #shown = new Set<string>();
  #until = Number.NEGATIVE_INFINITY;

  /** Starts the window after a ping. */
  begin(now: number): void {
    this.#until = now + WINDOW_MS;
  }

  /** Ends the window: the server gets another message, which it may log. */
  end(): void {
    this.#until = Number.NEGATIVE_INFINITY;
  }

  /** Returns true for a line that was shown after an earlier ping, and remembers a new line. */
  isRepeated(line: Buffer, now: number): boolean {
    if (now >= this.#until) return false;
    // latin1 is the fastest decoding; the text is only compared.
    const form = line.toString('latin1', 0, MAX_BYTES).replace(/\d+/g, '0');
    if (this.#shown.has(form)) return true;
    if (this.#shown.size < MAX_LINES) this.#shown.add(form);
    return false;
  }
}
