// Options of a command that become the query of a request. The gateway knows which values there are, and refuses the others.

import { printable } from '../../terminal/terminal-text.ts';
import type { ApiProblem } from '../api/api-client.ts';
import { UsageError } from '../api/target-options.ts';
import type { Situation } from './operation.ts';

/** Those of these names that were given, as the end of a path: `?state=waiting`, or nothing. */
export function queryOf(options: Situation['options'], names: readonly string[]): string {
  const query = valuesOf(options, names);
  return query.size === 0 ? '' : `?${query}`;
}

/** The same as they are. */
export function valuesOf(options: Situation['options'], names: readonly string[]): URLSearchParams {
  const query = new URLSearchParams();
  for (const name of names) {
    const value = options[name];
    if (typeof value === 'string') query.set(name, value);
  }
  return query;
}

/** Of 400: it is about one of the options. */
export async function explainBadValue(problem: ApiProblem): Promise<ApiProblem | UsageError> {
  return problem.answer?.status === 400 ? new UsageError(printable(problem.message)) : problem;
}
