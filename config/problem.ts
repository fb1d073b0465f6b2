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
}

/** Thrown when at least one problem is an error. `problems` holds the warnings too, in the order of the files. */
export class ConfigError extends Error {
  readonly code = 'ERR_CONFIG';
  readonly problems: readonly Problem[];
  constructor(problems: readonly Problem[]) {
    super(
      problems
        .filter(({ severity }) => severity === 'error')
        .map(formatProblem)
        .join('\n'),
    );
    this.problems = problems;
  }
  /** The errors alone, each as one line. */
  get lines(): readonly string[] {
    return this.problems.filter(({ severity }) => severity === 'error').map(formatProblem);
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
