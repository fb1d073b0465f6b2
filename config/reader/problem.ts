// Configuration problems, which are all reported together. Each has a position, `file:line:column`, so that
// operators and editors can jump to it. Messages contain no secrets (invariant A9 in ARCHITECTURE.md).

import { isAbsolute, relative } from 'node:path';

export interface Problem {
  /** Absolute path of the file. */
  readonly file: string;
  /** Line number, from 1. */
  readonly line: number;
  /** Column, from 1, in UTF-16 units like in editors. */
  readonly column: number;
  readonly message: string;
  readonly severity: 'error' | 'warning';
  /** For syntax errors: the line with masked values, and a marker below it. */
  readonly excerpt?: readonly string[];
}

export function isError({ severity }: Problem): boolean {
  return severity === 'error';
}

export function hasError(problems: readonly Problem[]): boolean {
  return problems.some(isError);
}

/**
 * The configuration has errors, and nothing was started or changed. `POST /reload` responds with 422.
 *
 * @remedy Correct the files at the positions in the message. `--check` validates the files.
 */
export class ConfigError extends Error {
  readonly code = 'ERR_CONFIG';
  /** Errors and warnings, in file order. */
  readonly problems: readonly Problem[];
  /** Errors only, as text lines. */
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

/** Returns `file:line:column: message`. Files in the working directory have a relative path. */
export function formatProblem({ file, line, column, message }: Problem): string {
  const fromHere = relative(process.cwd(), file);
  const isInside = fromHere !== '' && fromHere.split(/[\\/]/)[0] !== '..' && !isAbsolute(fromHere);
  return `${isInside ? fromHere : file}:${line}:${column}: ${message}`;
}
