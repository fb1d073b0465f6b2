// Moves that never replace an existing entry. Node's rename does not guarantee this.
//
// - File: creates a hard link, which fails if the destination exists, then removes the old name. If hard
//   links are not supported (FAT, other users' files), it creates an empty file and renames over it.
// - Symbolic link: creates the same link at the destination, then removes the old link. The target is
//   not moved.
// - Folder: creates an empty folder with mkdir, which fails if the destination exists, then renames over it.
//   The system renames only over an empty folder.
//
// After a failed move the old name still exists. Another program can lose data between the two steps, if it
// replaces the file or link under the old name, or writes to the empty file.

import { constants } from 'node:fs';
import { link, lstat, mkdir, open, readlink, rename, rmdir, symlink, unlink } from 'node:fs/promises';
import { isSystemError } from '../system-error.ts';
import { isSame, type PinnedEntry, StaleEntryError } from './pinned-entry.ts';

export interface MoveLocation {
  /** Folder that was verified as allowed. */
  readonly parent: PinnedEntry;
  readonly name: string;
}

const NO_HARD_LINK = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * Moves `entry`; links are not followed.
 * @throws the system error (EEXIST if the destination exists), or StaleEntryError if another program has
 *   replaced the file or link
 */
export async function moveExclusively(
  from: MoveLocation,
  entry: PinnedEntry,
  to: MoveLocation,
): Promise<void> {
  const source = from.parent.at(from.name);
  const target = to.parent.at(to.name);
  if (entry.stats.isDirectory()) await moveFolder(source, target);
  else if (entry.stats.isSymbolicLink()) {
    await symlink(await readlink(source, 'buffer'), target);
    await removeOldNameOrUndo(source, entry, target);
  } else await moveFile(source, entry, target);
}

async function moveFolder(source: string, target: string): Promise<void> {
  await mkdir(target);
  try {
    await rename(source, target);
  } catch (error) {
    // rmdir fails if the folder is not empty.
    await rmdir(target).catch(() => {});
    throw error;
  }
}

async function moveFile(source: string, entry: PinnedEntry, target: string): Promise<void> {
  try {
    await link(source, target);
  } catch (error) {
    if (!isSystemError(error) || !NO_HARD_LINK.has(error.code)) throw error;
    return await moveOverPlaceholder(source, target);
  }
  await removeOldNameOrUndo(source, entry, target);
}

/** Removes the old name. If this fails, removes the new name again and throws. */
async function removeOldNameOrUndo(source: string, entry: PinnedEntry, target: string): Promise<void> {
  try {
    if (!isSame(await lstat(source, { bigint: true }), entry.stats)) throw new StaleEntryError();
    await unlink(source);
  } catch (error) {
    await unlink(target).catch(() => {});
    throw error;
  }
}

async function moveOverPlaceholder(source: string, target: string): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  await (await open(target, flags)).close();
  try {
    await rename(source, target);
  } catch (error) {
    await unlink(target).catch(() => {});
    throw error;
  }
}
