// Resolves a path that is to be written: it must be a regular file, or not exist.

import type { Stats } from 'node:fs';
import { lstat, readlink, realpath } from 'node:fs/promises';

/**
 * A command cannot write a file. An existing file is unchanged.
 *
 * @remedy Follow the message: free disk space, change permissions, or name another file. If another command
 * is changing the file, run the command again.
 */
export class UnwritableFile extends Error {
  readonly code = 'ERR_UNWRITABLE_FILE';
  /** True if the file exists, but the caller requires a new file. */
  readonly isTaken: boolean;
  /** True if a concurrent command is writing the file; a retry may succeed. */
  readonly isBusy: boolean;

  constructor(path: string, reason: string, { isTaken = false, isBusy = false } = {}) {
    super(`${path} cannot be written: ${reason}; nothing was changed`);
    this.name = 'UnwritableFile';
    this.isTaken = isTaken;
    this.isBusy = isBusy;
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'its disk is full',
  EDQUOT: 'its disk is full',
  ENOENT: 'its folder does not exist',
  ENOTDIR: 'a part of its path is not a folder',
  EACCES: 'no permission',
  EPERM: 'no permission',
  EROFS: 'its file system is read-only',
  ELOOP: 'its symbolic links form a loop',
  ENAMETOOLONG: 'its name is too long',
};

/** Runs an action on the file. Converts system errors to UnwritableFile. */
export async function convertWriteErrors<T>(path: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof UnwritableFile) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new UnwritableFile(path, 'it exists already', { isTaken: true });
    const reason = reasons[code ?? ''];
    throw new UnwritableFile(path, reason === undefined ? (code ?? message) : `${reason} (${code})`);
  }
}

/**
 * Resolves symbolic links. Throws UnwritableFile if the path exists and is not a regular file; with `isNew`,
 * if it exists at all.
 */
export async function resolveReplaceable(path: string, isNew = false): Promise<{ readonly real: string }> {
  return convertWriteErrors(path, async () => {
    const stats = await lstat(path).catch(ignoreAbsent);
    if (stats === undefined) return { real: path };
    if (isNew) throw new UnwritableFile(path, `it exists already (${kindOf(stats)})`, { isTaken: true });
    const real = await realpath(path).catch(ignoreAbsent);
    if (real === undefined)
      throw new UnwritableFile(
        path,
        `it is a symbolic link to ${await readlink(path)}, which does not exist; create that file, or remove the link`,
      );
    const file = await lstat(real);
    if (file.isFile()) return { real };
    throw new UnwritableFile(
      path,
      `it is ${kindOf(file)}, and only a regular file is replaced; name another file`,
    );
  });
}

function ignoreAbsent(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

/** Returns the file kind as a noun phrase: `a folder`. */
export function kindOf(stats: Stats): string {
  if (stats.isFile()) return 'a file';
  if (stats.isDirectory()) return 'a folder';
  if (stats.isFIFO()) return 'a named pipe';
  if (stats.isSocket()) return 'a socket';
  return stats.isSymbolicLink() ? 'a symbolic link' : 'a device';
}
