// Prints problems of configuration files like a compiler: `file:line:column: message`.

import { formatProblem, type Problem } from '../../../config/reader/problem.ts';
import { printMessage } from './output.ts';

/** Prints one line per problem on stderr, and the line of the file for a syntax error. */
export function printProblems(problems: readonly Problem[]): void {
  for (const problem of problems) {
    const kind = problem.severity === 'warning' ? 'warning: ' : '';
    printMessage(formatProblem(kind === '' ? problem : { ...problem, message: kind + problem.message }));
    if (problem.excerpt !== undefined) printMessage(problem.excerpt.join('\n'));
  }
}
