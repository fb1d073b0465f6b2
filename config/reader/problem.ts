// What is wrong with a configuration, and where. Every problem carries a position, so that an operator (and an
// editor that understands `file:line:column: message`) can go straight to it; all of them are reported at once.
// A message never repeats a value that is, or may hold, a secret (A9).

import { isAbsolute, relative } from 'node:path';

export interface Problem {
  /** Absolute path of the file. */
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** Counted from 1, in UTF-16 units as editors do. */
  readonly column: number;
  readonly message: string;
  readonly severity: 'error' | 'warning';
  /** The line and a mark below it, where the syntax is wrong; no value of it can be read. */
  readonly excerpt?: readonly string[];
}

export function isError({ severity }: Problem): boolean {
  return severity === 'error';
}

export function hasError(problems: readonly Problem[]): boolean {
  return problems.some(isError);
}

/** Thrown when at least one problem is an error. `problems` holds the warnings too, in the order of the files. */
export class ConfigError extends Error {
  readonly code = 'ERR_CONFIG';
  readonly problems: readonly Problem[];
  /** The errors alone, each as one line. */
  readonly lines: readonly string[];
  constructor(problems: readonly Problem[]) {
    const lines = problems.filter(isError).map(formatProblem);
    super(lines.join('\n'));
    this.lines = lines;
    this.problems = problems;
  }
  override get name(): string {
    return 'ConfigError';
  }
}

/** One line, `file:line:column: message`; the file is shown relative to the working directory when it is inside it. */
export function formatProblem({ file, line, column, message }: Problem): string {
  const fromHere = relative(process.cwd(), file);
  const isInside = fromHere !== '' && fromHere.split(/[\\/]/)[0] !== '..' && !isAbsolute(fromHere);
  return `${isInside ? fromHere : file}:${line}:${column}: ${message}`;
}
