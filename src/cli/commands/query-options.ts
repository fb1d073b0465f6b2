// Sends command options as query parameters. The gateway validates them.

import { printable } from '../../terminal/terminal-text.ts';
import type { ApiProblem } from '../api/client.ts';
import { CommandLineError } from '../api/target-options.ts';
import type { CommandContext } from './operation.ts';

/** Returns the query string of the set options, such as `?state=waiting`, or ''. */
export function queryString(options: CommandContext['options'], names: readonly string[]): string {
  const query = queryParameters(options, names);
  return query.size === 0 ? '' : `?${query}`;
}

/** Returns the query parameters of the set options. */
export function queryParameters(
  options: CommandContext['options'],
  names: readonly string[],
): URLSearchParams {
  const query = new URLSearchParams();
  for (const name of names) {
    const value = options[name];
    if (typeof value === 'string') query.set(name, value);
  }
  return query;
}

/** Converts status 400 to a CommandLineError: the gateway has rejected an option's value. */
export async function explainBadValue(problem: ApiProblem): Promise<ApiProblem | CommandLineError> {
  return problem.response?.status === 400 ? new CommandLineError(printable(problem.message)) : problem;
}
