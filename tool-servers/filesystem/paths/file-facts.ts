// Converts Node's file statistics to the metadata types that the tools use (confinement.ts).

import type { BigIntStats } from 'node:fs';
import type { EntryKind, Facts } from '../confinement/confinement.ts';

/** Permissions, set-id and sticky bits, without the file type. */
const MODE_BITS = 0o7777n;
/** RFC 3339 requires four-digit years, and clients reject others. File systems allow a wider range. */
const MIN_DATE_MS = Date.UTC(1000, 0);
const MAX_DATE_MS = Date.UTC(9999, 11, 31);

interface TypeChecks {
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}

export function kindOf(type: TypeChecks): EntryKind {
  if (type.isFile()) return 'file';
  if (type.isDirectory()) return 'directory';
  return type.isSymbolicLink() ? 'symlink' : 'other';
}

/** Returns the metadata of a file. `path` is the requested path, before links are resolved. */
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
