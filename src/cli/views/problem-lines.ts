// What is wrong with files, as compilers say it. Apart from --check, which a start does not load.

import { formatProblem, type Problem } from '../../../config/reader/problem.ts';
import { complain } from './output.ts';

/** One line per problem on stderr, as compilers write them; below a fault of the syntax the line that it is in. */
export function printProblems(problems: readonly Problem[]): void {
  for (const problem of problems) {
    const kind = problem.severity === 'warning' ? 'warning: ' : '';
    complain(formatProblem(kind === '' ? problem : { ...problem, message: kind + problem.message }));
    if (problem.excerpt !== undefined) complain(problem.excerpt.join('\n'));
  }
}
