// Something on the disk, held so that it stays the same thing whatever happens to its name. Node has no `openat`; Linux
// has something as good: /proc/self/fd/N leads to what is open as N, and to names in it, without any name on the way.
//
// 1. Pinning opens nothing for reading or writing (O_PATH): no pipe waits, no device notices, no outside file is read.
// 2. `real` is where the thing lay when it was pinned, as the kernel says, after all links.
// 3. What is done through `self` and `at` happens to the thing itself and in the folder itself, never elsewhere.

import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, open, readlink } from 'node:fs/promises';
import type { PathBytes } from '../paths/path-text.ts';

/** open(2); not among Node's constants, the same on every processor Node runs on. */
const O_PATH = 0o10000000;

export interface Pinned {
  readonly real: PathBytes;
  readonly stats: BigIntStats;
  /** A path that leads to this thing. */
  readonly self: string;
  /** A path that leads to `name` in this folder. */
  at(name: string): string;
  /** Where it lies now; something that equals no path when it is gone. */
  whereNow(): Promise<PathBytes>;
  close(): Promise<void>;
}

/**
 * Holds on to what `path` leads to.
 * @param flags O_DIRECTORY (only a folder will do), O_NOFOLLOW (a link itself, not what it leads to)
 */
export type Pin = (path: string, flags: number) => Promise<Pinned>;

/** Pins through /proc/self/fd; safe against whatever happens at the same time. */
export async function pinByProc(path: string, flags: number): Promise<Pinned> {
  const handle = await open(path, O_PATH | flags);
  try {
    const [real, stats] = await Promise.all([whereIs(handle), handle.stat({ bigint: true })]);
    return new ProcPinned(handle, real, stats);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Whether two look-ups found the same thing. */
export function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}

/** Opens a pinned thing for use; `flags` beside O_NONBLOCK. The caller closes it. */
export async function openPinned(pinned: Pinned, flags: number): Promise<FileHandle> {
  const handle = await open(pinned.self, flags | constants.O_NONBLOCK);
  try {
    // Always so with /proc. Elsewhere the name may lead to something else by now.
    if (!isSame(pinned.stats, await handle.stat({ bigint: true }))) throw new MovedAway();
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** A name that led to one thing and then to another within a call. */
export class MovedAway extends Error {
  override readonly name = 'MovedAway';
  readonly code = 'ESTALE';
}

class ProcPinned implements Pinned {
  readonly real: PathBytes;
  readonly stats: BigIntStats;
  readonly self: string;
  readonly #handle: FileHandle;

  constructor(handle: FileHandle, real: PathBytes, stats: BigIntStats) {
    this.#handle = handle;
    this.real = real;
    this.stats = stats;
    this.self = `/proc/self/fd/${handle.fd}`;
  }

  at(name: string): string {
    return `${this.self}/${name}`;
  }

  whereNow(): Promise<PathBytes> {
    return whereIs(this.#handle);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

function whereIs({ fd }: FileHandle): Promise<PathBytes> {
  return readlink(`/proc/self/fd/${fd}`, 'latin1');
}
