// Creates the state folder, and converts file system errors to a StateFolderError with a remedy.

import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isDiskFull } from '../base/errors/disk-full.ts';
import { GatewayError } from '../base/errors/errors.ts';

/**
 * The state folder cannot be created or written.
 *
 * @remedy Change its owner or mode, free disk space, or set another `state_dir`.
 */
export class StateFolderError extends GatewayError {
  readonly code = 'ERR_STATE_FOLDER';

  /** True if the disk or the quota is full. */
  get isFull(): boolean {
    return isDiskFull(this.cause);
  }
}

/** Creates the folder and its parents, accessible only by the owner. Throws StateFolderError. */
export function makeStateFolder(folder: string): void {
  inStateFolder(folder, () => makeFolder(folder));
}

/**
 * Creates the folder and its missing parents, without the option `recursive` of Node: it reports ENOENT on a
 * read-only file system, and does not return under /proc.
 */
function makeFolder(folder: string): void {
  if (!existsSync(dirname(folder))) makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Possibly created by a concurrent gateway.
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

/** Runs the action; throws StateFolderError instead of file system errors. */
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
      return `this user has no write permission (${code}); change owner or mode of the folder, or set another \`state_dir\``;
    case 'EROFS':
      return 'it is on a read-only file system (EROFS); set `state_dir` to a writable folder';
    case 'ENOSPC':
    case 'EDQUOT':
      return `the disk or the quota is full (${code}); free some space, or set another \`state_dir\``;
    case 'ENOENT':
      return 'the folder cannot be created (ENOENT); set `state_dir` to a writable folder';
    case 'ENOTDIR':
    case 'EEXIST':
      return `the path contains a file instead of a folder (${code}); set another \`state_dir\``;
    default:
      return `system error ${code}; set another \`state_dir\``;
  }
}
