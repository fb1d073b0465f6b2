// The same as pinned.ts where there is no /proc (macOS): a thing is known by its name after all links and by its identity.
// That the thing of this identity lies under this name is proven in the one folder that every system holds for a program,
// its working folder: enter the folder, ask where that is, look at the entry. Synchronous, so that nobody sees it.
//
// 1. What is read is proven like that, and compared with what was opened: as good as /proc.
// 2. Weaker than /proc where an entry is made, renamed or listed: those go by name after the proof. Somebody who swaps
//    folders and links inside an allowed folder in the very moment of a call may get it done in another folder.

import { type BigIntStats, constants, lstatSync } from 'node:fs';
import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { bytesOf, type PathBytes } from '../paths/path-text.ts';
import { isSame, MovedAway, type Pinned } from './pinned.ts';

/** Pins by name and identity; see the head for what that leaves open. Not for worker threads: they have no folder. */
export async function pinByName(path: string, flags: number): Promise<Pinned> {
  const isItself = (flags & constants.O_NOFOLLOW) !== 0;
  const name = isItself ? join(await realpath(dirname(path)), basename(path)) : await realpath(path);
  const stats = await lstat(name, { bigint: true });
  if (!isItself && stats.isSymbolicLink()) throw new MovedAway();
  if ((flags & constants.O_DIRECTORY) !== 0 && !stats.isDirectory())
    throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' });
  if (!isAt(name, stats)) throw new MovedAway();
  return new NamePinned(name, stats);
}

class NamePinned implements Pinned {
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

  async whereNow(): Promise<PathBytes> {
    return isAt(this.self, this.stats) ? this.real : '';
  }

  async close(): Promise<void> {}
}

/** Whether the entry `name` (absolute, no links on the way) is the thing of `stats`, whatever is swapped meanwhile. */
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
    comeBackTo(before);
  }
}

function comeBackTo(folder: string): void {
  try {
    process.chdir(folder);
  } catch {
    // Removed meanwhile; nothing in this program depends on where it is.
    process.chdir('/');
  }
}
