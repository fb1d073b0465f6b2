// The two halves of a change that locks nothing: the content to start from, and whether the file is still the same when
// the new content is ready. Told by identity, size and both times, as the system keeps them.

import { constants } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { ToolError } from '../../tool-error.ts';
import type { WriteTarget } from '../confinement/atomic-write.ts';
import { isSame, MovedAway, openPinned, type Pinned } from '../confinement/pinned.ts';
import { quoted } from '../paths/path-text.ts';
import { readBytes } from './text-part.ts';

/** All of a file, as large as it was when it was pinned. */
export async function contentOf(file: Pinned): Promise<Buffer> {
  const handle = await openPinned(file, constants.O_RDONLY);
  try {
    const size = Number(file.stats.size);
    const content = await readBytes(handle, 0, size + 1);
    if (content.length > size) throw new MovedAway();
    return content;
  } finally {
    await handle.close();
  }
}

/** @throws ToolError when `name` is no longer what was pinned, or no longer as it was then */
export async function mustBeUnchanged(
  { parent, name }: WriteTarget,
  { stats }: Pinned,
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
    `${quoted(path)} was changed by somebody else during the call. Nothing was written; read it again, then try again.`,
  );
}
