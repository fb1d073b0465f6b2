// Console messages and uncaught errors of pages: the newest lines, bounded in number and length.

const MAX_ENTRIES = 1000;
const MAX_CHARS = 2000;

export interface ConsoleEntry {
  /** Number in the session, from 1. */
  readonly number: number;
  readonly at: Date;
  readonly level: string;
  readonly text: string;
  /** `url:line:column`, or empty. */
  readonly location: string;
}

export class ConsoleLog {
  #entries: ConsoleEntry[] = [];
  #lineCount = 0;
  #newErrors = 0;
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Total number of lines. */
  get lineCount(): number {
    return this.#lineCount;
  }

  add(level: string, text: string, location: string): void {
    this.#lineCount++;
    if (level === 'error') this.#newErrors++;
    this.#entries.push({
      number: this.#lineCount,
      at: new Date(),
      level,
      text: truncate(text, MAX_CHARS),
      location: truncate(location, MAX_CHARS),
    });
    // Removes old entries in batches: removing one per new line would copy the whole list each time.
    if (this.#entries.length >= 2 * MAX_ENTRIES) this.#entries = this.#entries.slice(-MAX_ENTRIES);
    this.#onChange();
  }

  /** Returns the number of errors since the last call, and resets it. */
  takeErrors(): number {
    const errors = this.#newErrors;
    this.#newErrors = 0;
    return errors;
  }

  /** Returns the stored entries with a number above `afterNumber`, oldest first. */
  since(afterNumber: number): readonly ConsoleEntry[] {
    return this.#storedEntries().filter(({ number }) => number > afterNumber);
  }

  /** Returns the stored entries as text, one per line. A first line states the number of dropped entries. */
  text(): string {
    const stored = this.#storedEntries();
    const droppedCount = this.#lineCount - stored.length;
    const lines = stored.map(lineOf);
    if (droppedCount > 0)
      lines.unshift(`(${droppedCount} earlier entries were dropped; the newest ${MAX_ENTRIES} are kept)`);
    return lines.length === 0 ? 'The console is empty.' : lines.join('\n');
  }

  #storedEntries(): readonly ConsoleEntry[] {
    return this.#entries.slice(-MAX_ENTRIES);
  }
}

/** Formats an entry; further lines of its text are indented. */
export function lineOf({ at, level, text, location }: ConsoleEntry): string {
  const suffix = location === '' ? '' : ` (${location})`;
  return `${at.toISOString()} ${level}: ${text.replaceAll('\n', '\n    ')}${suffix}`;
}

/** Truncates `text` and appends the number of omitted characters. */
export function truncate(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return `${text.slice(0, maxChars)}… (${text.length - maxChars} more characters)`;
}
