// Resolves a path to a replaceable file: a regular file, or a free path.

import type { Stats } from 'node:fs';
import { lstat, readlink, realpath } from 'node:fs/promises';

/** Failure to write a file. The old file, if any, is unchanged. */
export class UnwritableFile extends Error {
  readonly code = 'ERR_UNWRITABLE_FILE';
  /** The path exists, but the caller requires a new file. */
  readonly isTaken: boolean;
  /** A concurrent command is writing the file; a retry may succeed. */
  readonly isBusy: boolean;

  constructor(path: string, reason: string, { isTaken = false, isBusy = false } = {}) {
    super(`${path} cannot be written: ${reason}; nothing was changed`);
    this.name = 'UnwritableFile';
    this.isTaken = isTaken;
    this.isBusy = isBusy;
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'there is no room on its disk',
  EDQUOT: 'there is no room on its disk',
  ENOENT: 'its folder does not exist',
  ENOTDIR: 'a part of its path is not a folder',
  EACCES: 'no permission',
  EPERM: 'no permission',
  EROFS: 'its file system is read-only',
  ELOOP: 'its symbolic links form a loop',
  ENAMETOOLONG: 'its name is too long',
};

/** Runs an action on the file. Converts system errors to UnwritableFile. */
export async function writing<T>(path: string, action: () => Promise<T>): Promise<T> {
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

/** Resolves symbolic links. Throws UnwritableFile unless the path is free or a regular file; with `isNew`, unless it is free. */
export async function replaceableFile(path: string, isNew = false): Promise<{ readonly real: string }> {
  return writing(path, async () => {
    const found = await lstat(path).catch(ignoreAbsent);
    if (found === undefined) return { real: path };
    if (isNew) throw new UnwritableFile(path, `it exists already (${kindOf(found)})`, { isTaken: true });
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

/** Returns the file kind, with an article. */
export function kindOf(found: Stats): string {
  if (found.isFile()) return 'a file';
  if (found.isDirectory()) return 'a folder';
  if (found.isFIFO()) return 'a named pipe';
  if (found.isSocket()) return 'a socket';
  return found.isSymbolicLink() ? 'a symbolic link' : 'a device';
}
