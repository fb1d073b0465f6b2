// Optimistic concurrency for edits: reads the initial content, and verifies before the write that the file is
// unchanged. Files are compared by identity, size, modification time and change time.

import { constants } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { ToolError } from '../../tool-error.ts';
import type { WriteTarget } from '../confinement/atomic-write.ts';
import { isSame, openPinned, type PinnedEntry, StaleEntryError } from '../confinement/pinned-entry.ts';
import { quote } from '../paths/path-text.ts';
import { readBytes } from './partial-read.ts';

/** Reads the whole file. Throws a StaleEntryError if the file has grown since it was pinned. */
export async function readContent(file: PinnedEntry): Promise<Buffer> {
  const handle = await openPinned(file, constants.O_RDONLY);
  try {
    const size = Number(file.stats.size);
    const content = await readBytes(handle, 0, size + 1);
    if (content.length > size) throw new StaleEntryError();
    return content;
  } finally {
    await handle.close();
  }
}

/** Throws a ToolError if `name` refers to another file now, or the file has changed since it was pinned. */
export async function assertUnchanged(
  { parent, name }: WriteTarget,
  { stats }: PinnedEntry,
  path: string,
): Promise<void> {
  const now = await lstat(parent.at(name), { bigint: true });
  if (
    isSame(now, stats) &&
    now.size === stats.size &&
    now.mtimeNs === stats.mtimeNs &&
    now.ctimeNs === stats.ctimeNs
  )
    return;
  throw new ToolError(
    `${quote(path)} was changed by another program during the call. Nothing was written; read it again, then retry.`,
  );
}
