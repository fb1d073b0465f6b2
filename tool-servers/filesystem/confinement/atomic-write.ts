// Atomic replacement of a file: writes a temporary file in the same folder, syncs it, and renames it over the
// target.
//
// 1. Readers see the old content or the new content, never a part.
// 2. If a write fails, the old content is unchanged and the temporary file is removed. After a crash the
//    temporary file remains; its name starts with TEMPORARY_PREFIX.
// 3. The new file has the old permissions without set-user-id bits, and the old owner and group if the system
//    permits it. Other hard links still refer to the old content. Access lists and extended attributes are
//    lost.

import { randomBytes } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { access, type FileHandle, open, rename, unlink } from 'node:fs/promises';
import type { PinnedEntry } from './pinned-entry.ts';

const TEMPORARY_PREFIX = '.actor-gateway-';
const TEMPORARY_SUFFIX = '.tmp';
const TEMPORARY_RANDOM_BYTES = 12;
const PERMISSIONS = 0o777n;
/** Mode for new files, before the umask. */
const NEW_FILE_MODE = 0o666;
const PRIVATE_FILE_MODE = 0o600;
/** chown(2): keep this id. */
const KEEP_OWNER = -1;

/** True if `name` is a temporary file, from a running or crashed write. */
export function isTemporaryName(name: string): boolean {
  return name.startsWith(TEMPORARY_PREFIX) && name.endsWith(TEMPORARY_SUFFIX);
}

export interface WriteTarget {
  /** Folder that was verified as allowed. */
  readonly parent: PinnedEntry;
  readonly name: string;
  /** Existing regular file with this name; undefined for a new name. */
  readonly existing: PinnedEntry | undefined;
}

/**
 * Replaces the content of the target.
 * @param commit runs the rename; if it throws, nothing has changed
 */
export async function replaceContent(
  { parent, name, existing }: WriteTarget,
  content: string | Uint8Array,
  commit: (rename: () => Promise<void>) => Promise<void>,
): Promise<void> {
  // A rename requires write permission on the folder only. A read-only file must not be replaced either.
  if (existing) await access(existing.self, constants.W_OK);
  const temporary = parent.at(
    `${TEMPORARY_PREFIX}${randomBytes(TEMPORARY_RANDOM_BYTES).toString('hex')}${TEMPORARY_SUFFIX}`,
  );
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const handle = await open(temporary, flags, existing ? PRIVATE_FILE_MODE : NEW_FILE_MODE);
  try {
    try {
      await handle.writeFile(content);
      if (existing) await copyPermissions(handle, existing.stats);
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

async function copyPermissions(handle: FileHandle, { uid, gid, mode }: BigIntStats): Promise<void> {
  const current = await handle.stat({ bigint: true });
  // Changing the owner requires privileges, and changing the group requires membership. On failure the file
  // has the ids of this server.
  if (current.uid !== uid || current.gid !== gid)
    await handle
      .chown(Number(uid), Number(gid))
      .catch(() => handle.chown(KEEP_OWNER, Number(gid)))
      .catch(() => {});
  await handle.chmod(Number(mode & PERMISSIONS));
}

/** Syncs the folder. Errors are ignored, because the content is already in place. */
async function syncFolder(parent: PinnedEntry): Promise<void> {
  const handle = await open(parent.self, constants.O_RDONLY | constants.O_DIRECTORY).catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
