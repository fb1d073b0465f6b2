// Selects the new warnings after a reload, so that known warnings are not logged with every save. Line
// numbers are ignored, because they change.

import type { Problem } from '../../../config/reader/problem.ts';

/** Returns the new warnings. Equal warnings are counted: a second equal warning is new. */
export function newWarnings(before: readonly Problem[], now: readonly Problem[]): readonly Problem[] {
  const counts = new Map<string, number>();
  for (const problem of before.filter(isWarning)) {
    const text = textOf(problem);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return now.filter(isWarning).filter((problem) => {
    const text = textOf(problem);
    const remaining = counts.get(text) ?? 0;
    counts.set(text, remaining - 1);
    return remaining <= 0;
  });
}

const isWarning = ({ severity }: Problem) => severity === 'warning';
const textOf = ({ file, message }: Problem) => `${file}: ${message}`;
