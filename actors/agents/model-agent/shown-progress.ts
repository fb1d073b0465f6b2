// What is shown of a run while it works: the answer as it grows, and below it what its tools are doing.
//
// SPG1  however often there is something new, it is shown once in PACE_MS, the newest: whoever shows it looks at all of it each time.

/** Tools that are named; the others are counted. */
const MAX_NAMED = 3;
const MAX_WORDS = 200;
const PACE_MS = 50;

export class ShownProgress {
  readonly #show: (text: string) => void;
  /** What the model has said last. */
  #text = '';
  /** Calls under way, and what each says of its progress. */
  readonly #calls = new Map<string, { readonly name: string; readonly says: string }>();
  #timer: NodeJS.Timeout | undefined;
  #nextAt = 0;

  constructor(show: (text: string) => void) {
    this.#show = show;
  }

  /** The whole of the answer so far. */
  readonly text = (text: string): void => {
    this.#text = text;
    this.#changed();
  };

  begun(id: string, name: string): void {
    this.says(id, name, '');
  }

  says(id: string, name: string, says: string): void {
    this.#calls.set(id, { name, says: says.slice(0, MAX_WORDS) });
    this.#changed();
  }

  ended(id: string): void {
    this.#calls.delete(id);
    if (this.#calls.size > 0) this.#changed();
  }

  /** Nothing more is shown. */
  end(): void {
    clearTimeout(this.#timer);
    this.#nextAt = Number.POSITIVE_INFINITY;
  }

  #changed(): void {
    if (this.#timer !== undefined || this.#nextAt === Number.POSITIVE_INFINITY) return;
    const inMs = this.#nextAt - performance.now();
    if (inMs <= 0) this.#showNow();
    else this.#timer = setTimeout(() => this.#showNow(), inMs);
  }

  #showNow(): void {
    this.#timer = undefined;
    this.#nextAt = performance.now() + PACE_MS;
    this.#show([this.#text, this.#calledNow()].filter((part) => part !== '').join('\n\n'));
  }

  #calledNow(): string {
    const calls = [...this.#calls.values()];
    const lines = calls
      .slice(0, MAX_NAMED)
      .map(({ name, says }) => `_Using ${plain(name)}${says === '' ? '' : `: ${plain(says)}`}…_`);
    if (calls.length > MAX_NAMED) lines.push(`_and ${calls.length - MAX_NAMED} more_`);
    return lines.join('\n');
  }
}

/** It stands between underscores, on one line, and may be what a stranger says. */
const plain = (text: string) => text.replace(/[\s\p{Cc}]+/gu, ' ').replace(/[*`[\]<>]/g, '');
