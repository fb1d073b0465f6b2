// A move that never replaces anything, though Node has no rename that refuses to.
//
// - A file: a second name (link), which fails when the new name is taken; then the old name goes. Where second names are
//   not to be had (FAT, files of other users): a new empty file under the new name, then rename over that.
// - A link: the same link made anew, then the old one goes. It is moved itself, not what it leads to.
// - A folder: an empty folder under the new name (mkdir, fails when it is taken), then rename over that, which the system
//   does only while it is empty.
// A move that fails leaves the old name. What remains open, between two steps and only to other programs: one that puts
// something else under the old name of a file or link may lose it, and so may one that writes into the empty file.

import { constants } from 'node:fs';
import { link, lstat, mkdir, open, readlink, rename, rmdir, symlink, unlink } from 'node:fs/promises';
import { isSystemError } from '../system-error.ts';
import { isSame, MovedAway, type Pinned } from './pinned.ts';

export interface MoveEnd {
  /** The folder, proven inside. */
  readonly parent: Pinned;
  readonly name: string;
}

const NO_SECOND_NAME = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * Gives what `moved` holds (the entry itself, links not followed) its new name.
 * @throws the system's error; EEXIST when there is something at `to`
 */
export async function moveExclusively(from: MoveEnd, moved: Pinned, to: MoveEnd): Promise<void> {
  const source = from.parent.at(from.name);
  const target = to.parent.at(to.name);
  if (moved.stats.isDirectory()) await moveFolder(source, target);
  else if (moved.stats.isSymbolicLink()) {
    await symlink(await readlink(source, 'buffer'), target);
    await dropOldName(source, moved, target);
  } else await moveFile(source, moved, target);
}

async function moveFolder(source: string, target: string): Promise<void> {
  await mkdir(target);
  try {
    await rename(source, target);
  } catch (error) {
    // Removes nothing but an empty folder.
    await rmdir(target).catch(() => {});
    throw error;
  }
}

async function moveFile(source: string, moved: Pinned, target: string): Promise<void> {
  try {
    await link(source, target);
  } catch (error) {
    if (!isSystemError(error) || !NO_SECOND_NAME.has(error.code)) throw error;
    return await moveOverPlaceholder(source, target);
  }
  await dropOldName(source, moved, target);
}

async function dropOldName(source: string, moved: Pinned, target: string): Promise<void> {
  try {
    if (!isSame(await lstat(source, { bigint: true }), moved.stats)) throw new MovedAway();
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
