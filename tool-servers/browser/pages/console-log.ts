// What pages wrote to the console, and the errors nobody caught: the newest lines of it, bounded in number and length,
// since a page may write without end.

const MAX_ENTRIES = 1000;
const MAX_CHARS = 2000;

export interface ConsoleEntry {
  /** Counts up from 1 over the whole session. */
  readonly number: number;
  readonly at: Date;
  readonly level: string;
  readonly text: string;
  /** `url:line:column`, empty where there is none. */
  readonly place: string;
}

export class ConsoleLog {
  #entries: ConsoleEntry[] = [];
  #written = 0;
  #newErrors = 0;
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** How many lines were ever written. */
  get written(): number {
    return this.#written;
  }

  add(level: string, text: string, place: string): void {
    this.#written++;
    if (level === 'error') this.#newErrors++;
    this.#entries.push({
      number: this.#written,
      at: new Date(),
      level,
      text: cut(text, MAX_CHARS),
      place: cut(place, MAX_CHARS),
    });
    // In pieces: moving a thousand entries for each new one is what a page that floods the console wants.
    if (this.#entries.length >= 2 * MAX_ENTRIES) this.#entries = this.#entries.slice(-MAX_ENTRIES);
    this.#onChange();
  }

  /** How many errors were written since this was asked last. */
  takeErrors(): number {
    const errors = this.#newErrors;
    this.#newErrors = 0;
    return errors;
  }

  /** The entries after the first `seen` that are still kept, oldest first. */
  since(seen: number): readonly ConsoleEntry[] {
    return this.#kept().filter(({ number }) => number > seen);
  }

  /** Everything that is kept, one entry a line; says how much is gone. */
  text(): string {
    const kept = this.#kept();
    const gone = this.#written - kept.length;
    const lines = kept.map(lineOf);
    if (gone > 0) lines.unshift(`(${gone} earlier entries are gone: the newest ${MAX_ENTRIES} are kept)`);
    return lines.length === 0 ? 'Nothing was written to the console yet.' : lines.join('\n');
  }

  #kept(): readonly ConsoleEntry[] {
    return this.#entries.slice(-MAX_ENTRIES);
  }
}

/** An entry as people read it; further lines of its text are indented. */
export function lineOf({ at, level, text, place }: ConsoleEntry): string {
  const where = place === '' ? '' : ` (${place})`;
  return `${at.toISOString()} ${level}: ${text.replaceAll('\n', '\n    ')}${where}`;
}

/** `text`, or its beginning and how much was left out. */
export function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return `${text.slice(0, maxChars)}… (${text.length - maxChars} more characters)`;
}
