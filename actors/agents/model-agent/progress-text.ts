// Text that shows a run's progress, to API clients that watch it and in a chat's draft message: the
// answer so far, and below it the tools in use. Updates are limited to one per PACE_MS, because each update
// contains the whole text.

/** Limit of named tools; further tools are counted. */
const MAX_NAMED = 3;
const MAX_MESSAGE = 200;
const PACE_MS = 50;

export class ProgressText {
  readonly #show: (text: string) => void;
  /** Last text of the model. */
  #text = '';
  /** Calls in progress, with progress messages. */
  readonly #calls = new Map<string, { readonly name: string; readonly message: string }>();
  #timer: NodeJS.Timeout | undefined;
  #nextAt = 0;

  constructor(show: (text: string) => void) {
    this.#show = show;
  }

  /** Sets the whole answer so far. */
  readonly setText = (text: string): void => {
    this.#text = text;
    this.#scheduleUpdate();
  };

  beginCall(id: string, name: string): void {
    this.reportCall(id, name, '');
  }

  reportCall(id: string, name: string, message: string): void {
    this.#calls.set(id, { name, message: message.slice(0, MAX_MESSAGE) });
    this.#scheduleUpdate();
  }

  endCall(id: string): void {
    this.#calls.delete(id);
    // After the last call no update is needed: the next text of the model replaces the tool lines.
    if (this.#calls.size > 0) this.#scheduleUpdate();
  }

  /** Stops all updates. */
  end(): void {
    clearTimeout(this.#timer);
    this.#nextAt = Number.POSITIVE_INFINITY;
  }

  #scheduleUpdate(): void {
    if (this.#timer !== undefined || this.#nextAt === Number.POSITIVE_INFINITY) return;
    const inMs = this.#nextAt - performance.now();
    if (inMs <= 0) this.#showNow();
    else this.#timer = setTimeout(() => this.#showNow(), inMs);
  }

  #showNow(): void {
    this.#timer = undefined;
    this.#nextAt = performance.now() + PACE_MS;
    this.#show([this.#text, this.#callLines()].filter((part) => part !== '').join('\n\n'));
  }

  #callLines(): string {
    const calls = [...this.#calls.values()];
    const lines = calls
      .slice(0, MAX_NAMED)
      .map(({ name, message }) => `_Using ${plain(name)}${message === '' ? '' : `: ${plain(message)}`}…_`);
    if (calls.length > MAX_NAMED) lines.push(`_and ${calls.length - MAX_NAMED} more_`);
    return lines.join('\n');
  }
}

/** The text is between underscores on one line, and may be untrusted. */
const plain = (text: string) => text.replace(/[\s\p{Cc}]+/gu, ' ').replace(/[*`[\]<>]/g, '');
