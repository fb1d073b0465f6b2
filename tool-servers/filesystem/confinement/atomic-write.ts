// A file's content replaced whole or not at all: written to a new file beside it, brought to the disk, renamed over it.
//
// 1. Whoever opens the file reads the old content or the new, never a part. 2. When it fails, the old content stands and
// the new file is gone. 3. Only a crash in between leaves a file behind; its name starts with TEMPORARY_PREFIX.
// 4. Permissions stay, without set-user-id bits; owner and group stay where the system allows it. Not kept: other hard links
// of the file (they keep the old content), access lists and extended attributes.

import { randomBytes } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { access, type FileHandle, open, rename, unlink } from 'node:fs/promises';
import type { Pinned } from './pinned.ts';

const TEMPORARY_PREFIX = '.actor-gateway-';
const TEMPORARY_SUFFIX = '.tmp';
const TEMPORARY_RANDOM_BYTES = 12;
const PERMISSIONS = 0o777n;
/** Of a new file, before the process's umask. */
const NEW_FILE_MODE = 0o666;
const PRIVATE_FILE_MODE = 0o600;
/** chown(2): this one stays. */
const KEPT = -1;

/** Whether `name` is that of a file which a write in progress, or one that crashed, put beside its target. */
export function isTemporaryName(name: string): boolean {
  return name.startsWith(TEMPORARY_PREFIX) && name.endsWith(TEMPORARY_SUFFIX);
}

export interface WriteTarget {
  /** The folder, proven inside. */
  readonly parent: Pinned;
  readonly name: string;
  /** The regular file that bears the name already. */
  readonly existing: Pinned | undefined;
}

/**
 * Makes `content` the content of the target.
 * @param commit runs the rename it gets, when it is time; what it throws leaves everything as it was
 */
export async function replaceContent(
  { parent, name, existing }: WriteTarget,
  content: string | Uint8Array,
  commit: (rename: () => Promise<void>) => Promise<void>,
): Promise<void> {
  // A rename asks the folder only; a file that may not be written must not be replaced either.
  if (existing) await access(existing.self, constants.W_OK);
  const temporary = parent.at(
    `${TEMPORARY_PREFIX}${randomBytes(TEMPORARY_RANDOM_BYTES).toString('hex')}${TEMPORARY_SUFFIX}`,
  );
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const handle = await open(temporary, flags, existing ? PRIVATE_FILE_MODE : NEW_FILE_MODE);
  try {
    try {
      await handle.writeFile(content);
      if (existing) await takeOver(handle, existing.stats);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await commit(() => rename(temporary, parent.at(name)));
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw error;
  }
  await syncFolder(parent);
}

async function takeOver(handle: FileHandle, { uid, gid, mode }: BigIntStats): Promise<void> {
  const own = await handle.stat({ bigint: true });
  // The owner may be given away by few, the group by members of both; what is refused becomes this server's own.
  if (own.uid !== uid || own.gid !== gid)
    await handle
      .chown(Number(uid), Number(gid))
      .catch(() => handle.chown(KEPT, Number(gid)))
      .catch(() => {});
  await handle.chmod(Number(mode & PERMISSIONS));
}

/** Makes the new name last. The content is in place already, so what fails here is no failure of the write. */
async function syncFolder(parent: Pinned): Promise<void> {
  const handle = await open(parent.self, constants.O_RDONLY | constants.O_DIRECTORY).catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
