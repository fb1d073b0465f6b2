// Copies a damaged write-ahead log before the file is opened, because opening empties the log.

import { copyFileSync } from 'node:fs';
import { logDamage } from './log-check.ts';

/**
 * Returns a description of the damage and the path of the copy; undefined if the log is intact or missing.
 */
export function copyDamagedLog(file: string): string | undefined {
  const found = logDamage(file);
  if (found === undefined) return undefined;
  const { whole, lost, lostCommits } = found;
  const copy = `${file}-wal.damaged`;
  const what = `log ${file}-wal has ${whole} intact pages; ${lost} pages after them are lost, with at least ${lostCommits} transactions`;
  try {
    copyFileSync(`${file}-wal`, copy);
    return `${what}; copied to ${copy}`;
  } catch (error) {
    return `${what}; could not be copied (${(error as NodeJS.ErrnoException).code})`;
  }
}
