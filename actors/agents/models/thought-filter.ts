// Removes the thoughts that some models write at the beginning of their text, between marks such as <think>
// and </think>. A model's template may contain the opening mark; then the text starts with a thought,
// and only the closing mark appears. The result does not depend on the pieces of the stream, and each piece
// is searched once.

const pairs: readonly (readonly [open: RegExp, close: RegExp])[] = [
  [/^<think>/i, /<\/think>/i],
  [/^<thinking>/i, /<\/thinking>/i],
  [/^<thoughts?>/i, /<\/thoughts?>/i],
  [/^<reasoning>/i, /<\/reasoning>/i],
  [/^<seed:think>/i, /<\/seed:think>/i],
  [/^◁think▷/i, /◁\/think▷/i],
  [/^\[THINK\]/i, /\[\/THINK\]/i],
];
const openings = ['<think>', '<thinking>', '<thoughts>', '<reasoning>', '<seed:think>', '◁think▷', '[think]'];
/** Closing marks of models whose template contains the opening mark. */
const unopened = /<\/(?:think|thinking|seed:think)>|◁\/think▷|\[\/THINK\]/gi;
/** Longest closing mark, with the character before it. */
const MAX_MARK = 14;
const quotesBefore = /[`'"“‘«(]$/;
const quotesAfter = /^[`'"”’»)]/;

export class ThoughtFilter {
  /** Text after the removed thoughts. */
  #text = '';
  /** End of the searched text. */
  #tail = '';
  /** Closing mark of the current thought. */
  #close: RegExp | undefined;
  /** True after the beginning of an answer. */
  #hasStarted = false;
  #hasUnopened = false;
  #hasRemoved = false;
  #isHidden: boolean;

  /** `isHidden`: hides the text until a closing mark, because the model omits opening marks. */
  constructor(isHidden: boolean) {
    this.#isHidden = isHidden;
  }

  /** Answer so far. */
  get text(): string {
    return this.#hasStarted && !this.#isHidden ? this.#text : '';
  }

  get hasRemoved(): boolean {
    return this.#hasRemoved;
  }

  /** True if a thought had no opening mark. */
  get hasUnopened(): boolean {
    return this.#hasUnopened;
  }

  add(piece: string): void {
    this.#append(piece, false);
  }

  /** Ends the text; a text without thoughts is the answer. */
  end(): void {
    this.#append('', true);
    this.#isHidden = false;
  }

  #append(piece: string, isWhole: boolean): void {
    this.#text += piece;
    const searched = this.#tail.length;
    const window = this.#tail + piece;
    this.#tail = window.slice(-MAX_MARK);
    if (this.#close !== undefined) this.#findEnd(this.#close, window, isWhole);
    else if (this.#hasStarted) this.#findUnopened(window, searched, isWhole);
    else this.#findStart(isWhole);
  }

  /** Finds the end of the current thought. */
  #findEnd(close: RegExp, window: string, isWhole: boolean): void {
    const found = close.exec(window);
    if (found === null) this.#text = '';
    else this.#restart(window.slice(found.index + found[0].length), isWhole);
  }

  /** `searched` is the length of the text in the window that has been searched before. */
  #findUnopened(window: string, searched: number, isWhole: boolean): void {
    for (const { 0: mark, index } of window.matchAll(unopened)) {
      if (index + mark.length < searched) continue;
      const rest = window.slice(index + mark.length);
      // The next piece shows whether the mark is quoted.
      if (rest === '' && !isWhole) return;
      if (quotesBefore.test(window.slice(0, index)) || quotesAfter.test(rest)) continue;
      if (this.#isInCode(rest.length)) continue;
      this.#hasUnopened = true;
      this.#isHidden = false;
      this.#restart(rest, isWhole);
      return;
    }
  }

  /** Returns true if a code block is open before the last `length` characters. */
  #isInCode(length: number): boolean {
    const fences = this.#text.slice(0, this.#text.length - length).match(/^\s*```/gm) ?? [];
    return fences.length % 2 === 1;
  }

  #findStart(isWhole: boolean): void {
    const start = this.#text.trimStart();
    for (const [open, close] of pairs) {
      const [mark] = open.exec(start) ?? [];
      if (mark === undefined) continue;
      this.#close = close;
      this.#hasRemoved = true;
      this.#isHidden = false;
      this.#continueWith(start.slice(mark.length), isWhole);
      return;
    }
    if (!isWhole && openings.some((mark) => mark.startsWith(start.toLowerCase()))) return;
    this.#hasStarted = true;
    this.#continueWith(this.#hasRemoved ? start : this.#text, isWhole);
  }

  /** Continues after a removed thought, where another one may follow. */
  #restart(rest: string, isWhole: boolean): void {
    this.#close = undefined;
    this.#hasStarted = false;
    this.#hasRemoved = true;
    this.#continueWith(rest, isWhole);
  }

  #continueWith(text: string, isWhole: boolean): void {
    this.#text = '';
    this.#tail = '';
    this.#append(text, isWhole);
  }
}
