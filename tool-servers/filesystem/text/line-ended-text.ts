// Text with normalised line feeds that records which of them were `\r\n`. It is split once, edited at several
// positions, and joined once.

export class LineEndedText {
  /** Text in which each line ending is `\n`. */
  #flat: string;
  /** Positions in `#flat` of line feeds that are `\r\n` in the file, ascending. */
  #pairs: number[];

  constructor(text: string) {
    ({ flat: this.#flat, pairs: this.#pairs } = splitLineEndings(text));
  }

  get flat(): string {
    return this.#flat;
  }

  /**
   * Replaces a range. The new text gets the line ending of the range, otherwise of the whole text. Without
   * either, it keeps its own.
   */
  replace(start: number, end: number, text: string): void {
    const { flat, pairs } = splitLineEndings(text);
    const first = this.#firstPairFrom(start);
    const next = this.#firstPairFrom(end);
    const ending = this.#endingFrom(start, end) ?? this.#endingFrom(0, this.#flat.length);
    const newPairs = ending === undefined ? pairs : ending === '\r\n' ? lineFeedsOf(flat) : [];
    const shift = flat.length - (end - start);
    this.#pairs = this.#pairs.slice(0, first).concat(
      newPairs.map((at) => at + start),
      this.#pairs.slice(next).map((at) => at + shift),
    );
    this.#flat = this.#flat.slice(0, start) + flat + this.#flat.slice(end);
  }

  toString(): string {
    const pieces: string[] = [];
    let from = 0;
    for (const at of this.#pairs) {
      pieces.push(this.#flat.slice(from, at));
      from = at + 1;
    }
    pieces.push(this.#flat.slice(from));
    return pieces.join('\r\n');
  }

  #endingFrom(start: number, end: number): '\n' | '\r\n' | undefined {
    const feed = this.#flat.indexOf('\n', start);
    if (feed < 0 || feed >= end) return undefined;
    return this.#pairs[this.#firstPairFrom(feed)] === feed ? '\r\n' : '\n';
  }

  /** Returns the index in `#pairs` of the first `\r\n` at or after `position`. */
  #firstPairFrom(position: number): number {
    let low = 0;
    let high = this.#pairs.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#pairs[middle] ?? 0) < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Returns `text` with normalised line feeds. */
export function withLineFeeds(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

function splitLineEndings(text: string): { flat: string; pairs: number[] } {
  const pairs: number[] = [];
  for (let at = text.indexOf('\r\n'); at >= 0; at = text.indexOf('\r\n', at + 2))
    pairs.push(at - pairs.length);
  return { flat: withLineFeeds(text), pairs };
}

function lineFeedsOf(flat: string): number[] {
  const feeds: number[] = [];
  for (let at = flat.indexOf('\n'); at >= 0; at = flat.indexOf('\n', at + 1)) feeds.push(at);
  return feeds;
}
