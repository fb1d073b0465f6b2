// Small files that are there whole or not at all: written under another name, then moved or linked to their own.
// Whoever reads them never finds half of one, even when the writer was killed on the way.

import { randomBytes } from 'node:crypto';
import { linkSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';

const UNFINISHED_SUFFIX = '.new';
/** No write takes so long: its writer was killed. */
const LEFT_AFTER_MS = 60_000;

/** Whether this is a file whose writer was killed before it was whole. */
export function isLeftUnfinished(path: string): boolean {
  if (!path.endsWith(UNFINISHED_SUFFIX)) return false;
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat !== undefined && Date.now() - stat.mtimeMs > LEFT_AFTER_MS;
}

/** Writes the file, in place of an older one. Readable by its owner only. */
export function replaceFile(path: string, text: string): void {
  withUnfinished(path, text, (unfinished) => renameSync(unfinished, path));
}

/** Writes the file unless there is one already; then gives false. Of several who try at once one succeeds. */
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
