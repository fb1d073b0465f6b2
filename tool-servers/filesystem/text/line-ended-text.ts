// A text with line feeds alone for whoever searches in it, that still knows which of them stood behind a carriage return:
// taken apart once, changed in many places, put together once.

export class LineEndedText {
  /** With `\n` for every line ending. */
  #flat: string;
  /** Places in `#flat` of the line feeds that are `\r\n` in the file, in order. */
  #pairs: number[];

  constructor(text: string) {
    ({ flat: this.#flat, pairs: this.#pairs } = takenApart(text));
  }

  get flat(): string {
    return this.#flat;
  }

  /** Puts `text` in place of what is there; it takes the line ending of that, or else of the whole text, or its own. */
  replace(start: number, end: number, text: string): void {
    const { flat, pairs } = takenApart(text);
    const first = this.#firstPairFrom(start);
    const next = this.#firstPairFrom(end);
    const ending = this.#endingFrom(start, end) ?? this.#endingFrom(0, this.#flat.length);
    const added = ending === undefined ? pairs : ending === '\r\n' ? feedsOf(flat) : [];
    const shift = flat.length - (end - start);
    this.#pairs = this.#pairs.slice(0, first).concat(
      added.map((at) => at + start),
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

  /** Index of the first pair at or behind a place. */
  #firstPairFrom(place: number): number {
    let low = 0;
    let high = this.#pairs.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#pairs[middle] ?? 0) < place) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** `text` with a line feed for every line ending. */
export function withLineFeeds(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

function takenApart(text: string): { flat: string; pairs: number[] } {
  const pairs: number[] = [];
  for (let at = text.indexOf('\r\n'); at >= 0; at = text.indexOf('\r\n', at + 2))
    pairs.push(at - pairs.length);
  return { flat: withLineFeeds(text), pairs };
}

function feedsOf(flat: string): number[] {
  const feeds: number[] = [];
  for (let at = flat.indexOf('\n'); at >= 0; at = flat.indexOf('\n', at + 1)) feeds.push(at);
  return feeds;
}
