// Pinned entries on systems without /proc (macOS), identified by real path, device and inode. To verify an
// entry, the process changes its working directory to the folder, compares the current path, and examines the
// entry. All three steps are synchronous, so other code never sees the changed directory.
//
// 1. Reads are verified this way and compared with the opened file: as safe as /proc.
// 2. Creating, renaming and listing use the name after the check and are weaker than /proc. If a program
//    swaps folders and links inside an allowed folder at this moment, it can redirect the operation to
//    another folder.

import { type BigIntStats, constants, lstatSync } from 'node:fs';
import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { bytesOf, type PathBytes } from '../paths/path-text.ts';
import { isSame, type PinnedEntry, StaleEntryError } from './pinned-entry.ts';

/**
 * Pins by name and identity; see the header for the limits. Not for worker threads, which cannot change
 * directory.
 */
export async function pinByName(path: string, flags: number): Promise<PinnedEntry> {
  const isNoFollow = (flags & constants.O_NOFOLLOW) !== 0;
  const name = isNoFollow ? join(await realpath(dirname(path)), basename(path)) : await realpath(path);
  const stats = await lstat(name, { bigint: true });
  if (!isNoFollow && stats.isSymbolicLink()) throw new StaleEntryError();
  if ((flags & constants.O_DIRECTORY) !== 0 && !stats.isDirectory())
    throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' });
  if (!isAt(name, stats)) throw new StaleEntryError();
  return new NamePinnedEntry(name, stats);
}

class NamePinnedEntry implements PinnedEntry {
  readonly real: PathBytes;
  readonly stats: BigIntStats;
  readonly self: string;

  constructor(name: string, stats: BigIntStats) {
    this.self = name;
    this.stats = stats;
    this.real = bytesOf(name);
  }

  at(name: string): string {
    return join(this.self, name);
  }

  async currentPath(): Promise<PathBytes> {
    return isAt(this.self, this.stats) ? this.real : '';
  }

  async close(): Promise<void> {}
}

/**
 * True if the entry at `name` (absolute, without links) is the file of `stats`. Concurrent swaps cannot cause
 * a wrong result.
 */
function isAt(name: string, stats: BigIntStats): boolean {
  let before = '/';
  try {
    before = process.cwd();
    process.chdir(dirname(name));
    return (
      process.cwd() === dirname(name) && isSame(lstatSync(basename(name) || '.', { bigint: true }), stats)
    );
  } catch {
    return false;
  } finally {
    restoreFolder(before);
  }
}

function restoreFolder(folder: string): void {
  try {
    process.chdir(folder);
  } catch {
    // The folder was removed. Nothing in this program depends on the working directory.
    process.chdir('/');
  }
}
