// Writes small files atomically: under a temporary name, then renamed or linked. Readers do not see partial
// files, even when the writer was killed.

import { randomBytes } from 'node:crypto';
import { linkSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';

const UNFINISHED_SUFFIX = '.new';
/** Age from which an unfinished file counts as left by a killed writer; no write takes that long. */
const LEFT_AFTER_MS = 60_000;

/** Returns true for an unfinished file whose writer was killed. */
export function isLeftUnfinished(path: string): boolean {
  if (!path.endsWith(UNFINISHED_SUFFIX)) return false;
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat !== undefined && Date.now() - stat.mtimeMs > LEFT_AFTER_MS;
}

/** Writes or replaces the file, readable only by the owner. */
export function replaceFile(path: string, text: string): void {
  withUnfinished(path, text, (unfinished) => renameSync(unfinished, path));
}

/** Creates the file; returns false if it exists. Exactly one of several concurrent callers succeeds. */
export function createFile(path: string, text: string): boolean {
  try {
    withUnfinished(path, text, (unfinished) => linkSync(unfinished, path));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function withUnfinished(path: string, text: string, finish: (unfinished: string) => void): void {
  const unfinished = `${path}.${randomBytes(8).toString('hex')}${UNFINISHED_SUFFIX}`;
  try {
    writeFileSync(unfinished, text, { flag: 'wx', mode: 0o600 });
    finish(unfinished);
  } finally {
    rmSync(unfinished, { force: true });
  }
}
