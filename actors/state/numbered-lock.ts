// How one process at a time comes to hold a folder, by files alone. They are numbered: gateway.lock.1, .2, …
// The one with the highest number decides. It is never removed nor replaced by anybody but its holder, not even on
// release. To take over from a dead holder a starter creates the next number, which only one can; then it looks
// again, because what it saw may be from the past: a number that was free only because it had been cleaned up is
// not the highest, and is given back.

import { readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createFile, isLeftUnfinished } from './small-file.ts';

const PREFIX = 'gateway.lock.';

/** `path` is our own lock, or that of the holder whose text was found there. */
export type LockOutcome =
  | { readonly isTaken: true; readonly path: string }
  | { readonly isTaken: false; readonly path: string; readonly holder: string };

export interface LockText {
  readonly text: string;
  /** The same for a link, where there is no room for a file: in 59 bytes, which ext4 keeps without a block of the disk. */
  readonly short: string;
}

/**
 * Takes the lock with this text in it, unless `isHeldBy` says of the deciding text, long or short, that its writer holds on.
 * Every `yield` is a place where other processes may do anything; a test puts them there. Each round beyond the
 * first means that another process got further. Throws what the file system throws.
 */
export function* lockSteps(
  folder: string,
  text: LockText,
  isHeldBy: (text: string) => boolean,
): Generator<undefined, LockOutcome, undefined> {
  for (;;) {
    const highest = highestNumber(folder);
    yield;
    const holder = highest === 0 ? undefined : readIfThere(lockPath(folder, highest));
    yield;
    if (holder !== undefined && isHeldBy(holder))
      return { isTaken: false, path: lockPath(folder, highest), holder };
    yield;
    const path = lockPath(folder, highest + 1);
    if (!createLock(path, text)) continue;
    yield;
    if (highestNumber(folder) === highest + 1) {
      yield* removeOlder(folder, highest + 1);
      return { isTaken: true, path };
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

/** On a full disk there is no room for a file, but mostly for a short link: the text is where it leads. */
function createLock(path: string, { text, short }: LockText): boolean {
  try {
    return createFile(path, text);
  } catch (error) {
    if (!['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
  try {
    symlinkSync(short, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function readIfThere(path: string): string | undefined {
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
