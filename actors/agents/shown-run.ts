// What is shown of a run while it works: the answer as it grows, and below it what its tools are doing.

/** Tools that are named; the others are counted. */
const MAX_NAMED = 3;
const MAX_WORDS = 200;

export class ShownRun {
  readonly #show: (text: string) => void;
  /** What the model has said last. */
  #text = '';
  /** Calls under way, and what each says of its progress. */
  readonly #calls = new Map<string, { readonly name: string; readonly says: string }>();

  constructor(show: (text: string) => void) {
    this.#show = show;
  }

  /** The whole of the answer so far. */
  readonly text = (text: string): void => {
    this.#text = text;
    this.#show(text);
  };

  begun(id: string, name: string): void {
    this.says(id, name, '');
  }

  says(id: string, name: string, says: string): void {
    this.#calls.set(id, { name, says: says.slice(0, MAX_WORDS) });
    this.#showCalls();
  }

  ended(id: string): void {
    this.#calls.delete(id);
    if (this.#calls.size > 0) this.#showCalls();
  }

  #showCalls(): void {
    const calls = [...this.#calls.values()];
    const lines = calls
      .slice(0, MAX_NAMED)
      .map(({ name, says }) => `_Using ${plain(name)}${says === '' ? '' : `: ${plain(says)}`}…_`);
    if (calls.length > MAX_NAMED) lines.push(`_and ${calls.length - MAX_NAMED} more_`);
    this.#show([this.#text, lines.join('\n')].filter((part) => part !== '').join('\n\n'));
  }
}

/** It stands between underscores, on one line, and may be what a stranger says. */
const plain = (text: string) => text.replace(/[\s\p{Cc}]+/gu, ' ').replace(/[*`[\]<>]/g, '');
