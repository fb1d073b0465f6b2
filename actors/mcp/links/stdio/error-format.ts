// Formats of error output on stderr (exit-cause.ts, python-errors.ts).

/** The error output of one kind of program. */
export interface ErrorFormat {
  /** Returns true if the lines have this format. */
  isOf(last: string, lines: readonly string[]): boolean;
  /** Returns the line with the error. */
  errorIn(lines: readonly string[]): string | undefined;
}

const MAX_CHARS = 500;

/**
 * Joins an error and the lines below it. A line with a label is a further cause; another line continues the
 * line above, which the program has wrapped.
 */
export function joinedLines([first = '', ...below]: readonly string[], label = /^$/): string {
  const rest = below.map((line) => `${label.test(line) ? ';' : ''} ${line.trim()}`);
  const text = `${first.trim()}${rest.join('')}`;
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
}
