// What the system knows of a file, in the words of the confinement's interface.

import type { BigIntStats } from 'node:fs';
import type { EntryKind, Facts } from '../confinement/confinement.ts';

/** Permissions with the set-id and sticky bits, without the kind of file. */
const MODE_BITS = 0o7777n;
/** RFC 3339 has years of four digits, and clients refuse others; file systems go further. */
const MIN_DATE_MS = Date.UTC(1000, 0);
const MAX_DATE_MS = Date.UTC(9999, 11, 31);

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
    modifiedAt: dateOf(stats.mtimeMs),
    changedNs: stats.ctimeNs,
    accessedAt: dateOf(stats.atimeMs),
    createdAt: dateOf(stats.birthtimeMs),
    mode: Number(stats.mode & MODE_BITS),
  };
}

function dateOf(ms: bigint): Date {
  return new Date(Math.max(MIN_DATE_MS, Math.min(Number(ms), MAX_DATE_MS)));
}
