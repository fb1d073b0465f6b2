// Pinned entries: references to files and folders that stay valid when names change. Node does not offer
// `openat`. On Linux, /proc/self/fd/N replaces it: it refers to the open file N, and to names in that folder,
// independent of its path.
//
// 1. Pinning uses O_PATH, which opens no content: pipes do not block, devices are not triggered, outside
//    files are not read.
// 2. `real` is the path that the kernel reported when the entry was pinned.
// 3. Operations through `self` and `at` affect this entry and this folder only.

import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, open, readlink } from 'node:fs/promises';
import type { PathBytes } from '../paths/path-text.ts';

/** open(2). Missing in the constants of Node; the same on all supported processors. */
const O_PATH = 0o10000000;

export interface PinnedEntry {
  readonly real: PathBytes;
  readonly stats: BigIntStats;
  /** Path that refers to this entry. */
  readonly self: string;
  /** Returns a path that refers to `name` in this folder. */
  at(name: string): string;
  /** Returns the current path. If the entry was removed, the value differs from every path. */
  currentPath(): Promise<PathBytes>;
  close(): Promise<void>;
}

/**
 * Pins the entry at `path`.
 * @param flags O_DIRECTORY (must be a folder), O_NOFOLLOW (the link itself, not its target)
 */
export type Pin = (path: string, flags: number) => Promise<PinnedEntry>;

/** Pins through /proc/self/fd; safe against concurrent changes. */
export async function pinByProc(path: string, flags: number): Promise<PinnedEntry> {
  const handle = await open(path, O_PATH | flags);
  try {
    const [real, stats] = await Promise.all([pathOfHandle(handle), handle.stat({ bigint: true })]);
    return new ProcPinnedEntry(handle, real, stats);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** True if both statistics belong to the same file. */
export function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}

/** Opens a pinned entry with `flags` and O_NONBLOCK. The caller closes it. */
export async function openPinned(pinned: PinnedEntry, flags: number): Promise<FileHandle> {
  const handle = await open(pinned.self, flags | constants.O_NONBLOCK);
  try {
    // With /proc they are always the same. Without it the name may refer to another file by now.
    if (!isSame(pinned.stats, await handle.stat({ bigint: true }))) throw new StaleEntryError();
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Thrown if a name refers to another entry than before in the same call. */
export class StaleEntryError extends Error {
  override readonly name = 'StaleEntryError';
  readonly code = 'ESTALE';
}

class ProcPinnedEntry implements PinnedEntry {
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

  currentPath(): Promise<PathBytes> {
    return pathOfHandle(this.#handle);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

function pathOfHandle({ fd }: FileHandle): Promise<PathBytes> {
  return readlink(`/proc/self/fd/${fd}`, 'latin1');
}
