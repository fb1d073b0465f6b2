// Which warnings a reload tells: those that the files before it did not have. A reload may come every time that somebody saves a
// file, and what stands there as it stood says nothing new. Where in its file something stands does not matter: lines move.

import type { Problem } from '../../../config/reader/problem.ts';

/** Of two that are alike one that was there before leaves the other one new. */
export function newWarnings(before: readonly Problem[], now: readonly Problem[]): readonly Problem[] {
  const known = new Map<string, number>();
  for (const problem of before.filter(isWarning)) {
    const text = textOf(problem);
    known.set(text, (known.get(text) ?? 0) + 1);
  }
  return now.filter(isWarning).filter((problem) => {
    const text = textOf(problem);
    const left = known.get(text) ?? 0;
    known.set(text, left - 1);
    return left <= 0;
  });
}

const isWarning = ({ severity }: Problem) => severity === 'warning';
const textOf = ({ file, message }: Problem) => `${file}: ${message}`;
