// The folder in which a gateway keeps what must outlive it. Its errors name the folder and say what to do.

import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { GatewayError } from '../base/errors/errors.ts';

/** The state folder cannot be created or written. */
export class StateFolderError extends GatewayError {
  readonly code = 'ERR_STATE_FOLDER';

  /** There is no room on its disk. */
  get isFull(): boolean {
    const { code } = this.cause as NodeJS.ErrnoException;
    return code === 'ENOSPC' || code === 'EDQUOT';
  }
}

/** Creates the folder, with what is above it, for its owner only. Throws StateFolderError. */
export function makeStateFolder(folder: string): void {
  inStateFolder(folder, () => makeFolder(folder));
}

/** Not with `recursive: true`: that tells ENOENT for a read-only file system, and never ends under /proc. */
function makeFolder(folder: string): void {
  if (!existsSync(dirname(folder))) makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another gateway may have made it in the meantime.
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

/** Does something in the folder; errors of the file system become a StateFolderError. */
export function inStateFolder<T>(folder: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === undefined || !code.startsWith('E') || code.startsWith('ERR_')) throw error;
    throw new StateFolderError(`cannot use the state folder ${folder}: ${advice(code)}`, { cause: error });
  }
}

function advice(code: string): string {
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return `this user may not write there (${code}); change its owner or rights, or set another \`state_dir\``;
    case 'EROFS':
      return 'it is on a read-only file system (EROFS); set `state_dir` to a folder that can be written';
    case 'ENOSPC':
    case 'EDQUOT':
      return `the disk or the quota is full (${code}); free some space, or set another \`state_dir\``;
    case 'ENOENT':
      return 'it cannot be made there (ENOENT); set `state_dir` to a folder that can be written';
    case 'ENOTDIR':
    case 'EEXIST':
      return `it, or a part of its path, is a file and not a folder (${code}); set another \`state_dir\``;
    default:
      return `the system says ${code}; set another \`state_dir\``;
  }
}
