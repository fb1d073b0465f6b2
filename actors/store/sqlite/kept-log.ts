// Keeps a copy of a log that is damaged, before the file is opened: that empties it.

import { copyFileSync } from 'node:fs';
import { logDamage } from './log-check.ts';

/** What is damaged, in words, and where the copy is; undefined for a log that is whole, and where there is none. */
export function keptDamage(file: string): string | undefined {
  const found = logDamage(file);
  if (found === undefined) return undefined;
  const { whole, lost, lostCommits } = found;
  const kept = `${file}-wal.damaged`;
  const what = `of the log ${file}-wal ${whole} pages are whole, and the ${lost} after them, with ${lostCommits} transactions that can be told, cannot be used`;
  try {
    copyFileSync(`${file}-wal`, kept);
    return `${what}; it is kept as ${kept}`;
  } catch (error) {
    return `${what}; no copy of it could be kept (${(error as NodeJS.ErrnoException).code})`;
  }
}
