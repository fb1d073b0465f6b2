// Exclusive lock of a folder by numbered files: gateway.lock.1, .2, … The file with the highest number is the
// lock, and its text names the holder, a process. Only the holder changes the text. A release keeps the file.
// To take over from a dead holder, a process creates the file with the next number, which only one process
// can do. Then it checks that its number is the highest, because a competing process could have created a
// higher number and removed the lower files in between. If not, it removes its file and starts again.

import { readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { isDiskFull } from '../base/errors/disk-full.ts';
import { createFile, isLeftUnfinished } from './small-file.ts';

const PREFIX = 'gateway.lock.';

/**
 * `path` is the lock file with the highest number. `isAcquired`: this process now holds it.
 * Otherwise `holder` is the text of the other process that holds it.
 */
export type LockOutcome =
  | { readonly isAcquired: true; readonly path: string }
  | { readonly isAcquired: false; readonly path: string; readonly holder: string };

export interface LockText {
  readonly text: string;
  /** Short text for a symbolic link on a full disk: ext4 stores up to 59 bytes in the inode. */
  readonly short: string;
}

/**
 * Acquires the lock and writes `text` to it, unless `isHeldBy` returns true for the text of the current lock:
 * its holder is still alive. Each `yield` is a point at which other processes can act; tests use them. A
 * further round happens only if a competing process made progress. Throws file system errors.
 */
export function* lockSteps(
  folder: string,
  text: LockText,
  isHeldBy: (text: string) => boolean,
): Generator<undefined, LockOutcome, undefined> {
  for (;;) {
    const highest = highestNumber(folder);
    yield;
    const holder = highest === 0 ? undefined : readIfExists(lockPath(folder, highest));
    yield;
    if (holder !== undefined && isHeldBy(holder))
      return { isAcquired: false, path: lockPath(folder, highest), holder };
    yield;
    const path = lockPath(folder, highest + 1);
    if (!createLock(path, text)) continue;
    yield;
    if (highestNumber(folder) === highest + 1) {
      yield* removeOlder(folder, highest + 1);
      return { isAcquired: true, path };
    }
    yield;
    rmSync(path, { force: true });
  }
}

function lockPath(folder: string, number: number): string {
  return join(folder, `${PREFIX}${number}`);
}

function lockNumber(name: string): number {
  const digits = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : '';
  return /^[1-9]\d{0,14}$/.test(digits) ? Number(digits) : 0;
}

function highestNumber(folder: string): number {
  return readdirSync(folder).reduce((highest, name) => Math.max(highest, lockNumber(name)), 0);
}

function* removeOlder(folder: string, own: number): Generator<undefined, void, undefined> {
  for (const name of readdirSync(folder)) {
    yield;
    const path = join(folder, name);
    const number = lockNumber(name);
    const isOlder = number > 0 && number < own;
    if (isOlder || (name.startsWith(PREFIX) && isLeftUnfinished(path))) rmSync(path, { force: true });
  }
}

/** Creates the lock file. On a full disk, creates a symbolic link to the text, which usually still fits. */
function createLock(path: string, { text, short }: LockText): boolean {
  try {
    return createFile(path, text);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
  }
  try {
    symlinkSync(short, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Returns the text of a lock file, or of the symbolic link that replaces it on a full disk. */
function readIfExists(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code !== 'EINVAL') throw error;
  }
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
