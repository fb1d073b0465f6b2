// Recognises the error output of one kind of program (npm, Python, …) on stderr, to show why a server process
// has exited. The formats are in exit-cause.ts and python-errors.ts.

/** Error output from one kind of program. */
export interface ErrorFormat {
  /** Returns true if the lines have this format. `last` is the last of them; it suffices for most formats. */
  isOf(last: string, lines: readonly string[]): boolean;
  /** Returns the line with the error. */
  errorIn(lines: readonly string[]): string | undefined;
}

const MAX_CHARS = 500;

export const isIndented = (line: string) => /^\s/.test(line);

/**
 * Returns the last line that matches `head`, and the lines below it. Undefined if `isPart` rejects one of
 * these lines.
 */
export function blockIn(
  lines: readonly string[],
  head: RegExp,
  isPart: (line: string) => boolean,
): readonly string[] | undefined {
  const at = lines.findLastIndex((line) => head.test(line));
  return at !== -1 && lines.slice(at + 1).every(isPart) ? lines.slice(at) : undefined;
}

/** Returns the lines above the first one for which `isEnd` returns true. */
export function linesUntil(lines: readonly string[], isEnd: (line: string) => boolean): readonly string[] {
  const end = lines.findIndex(isEnd);
  return end === -1 ? lines : lines.slice(0, end);
}

/**
 * Joins an error and the lines below it. A line that matches `label` (such as `Caused by:`) is a further
 * cause, separated by a semicolon. Any other line continues the line above, which the program has wrapped.
 * The default label matches only empty lines, so no line with text is a further cause.
 */
export function joinedLines([first = '', ...below]: readonly string[], label = /^$/): string {
  const rest = below.map((line) => `${label.test(line) ? ';' : ''} ${line.trim()}`);
  const text = `${first.trim()}${rest.join('')}`;
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
}
