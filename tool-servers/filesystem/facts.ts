// What the system knows of a file, in the words of the confinement's interface.

import type { BigIntStats } from 'node:fs';
import type { EntryKind, Facts } from './confinement.ts';

/** Permissions with the set-id and sticky bits, without the kind of file. */
const MODE_BITS = 0o7777n;

interface Kinds {
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}

export function kindOf(kinds: Kinds): EntryKind {
  if (kinds.isFile()) return 'file';
  if (kinds.isDirectory()) return 'directory';
  return kinds.isSymbolicLink() ? 'symlink' : 'other';
}

/** The facts of what is at `path`, as the caller says it. */
export function factsOf(path: string, stats: BigIntStats): Facts {
  return {
    path,
    kind: kindOf(stats),
    sizeBytes: Number(stats.size),
    modifiedAt: stats.mtime,
    accessedAt: stats.atime,
    createdAt: stats.birthtime,
    mode: Number(stats.mode & MODE_BITS),
  };
}
