// Copies permissions and owner from the old file to the file that replaces it, as far as this user may set
// them.

import { access, constants, type FileHandle, stat } from 'node:fs/promises';

export interface FileAccess {
  readonly mode: number;
  /** Undefined if the owner is this user. */
  readonly owner: { readonly uid: number; readonly gid: number } | undefined;
}

/**
 * Returns the permissions and owner for the new content of `file`. They are copied from `like`, which is
 * `file` itself or another file as a model. Without `like`, the defaults for new files apply. Rejects if
 * `file` exists and this user may not write it.
 */
export async function accessOf(file: string, like: string, mode: number | undefined): Promise<FileAccess> {
  const exists = (await stat(file).catch(() => undefined)) !== undefined;
  // A rename needs only permission for the folder, so the permission for the file is checked here.
  if (exists) await access(file, constants.W_OK);
  const old = await stat(like).catch(() => undefined);
  if (old === undefined) return { mode: mode ?? 0o666 & ~process.umask(), owner: undefined };
  const isOwnedByUser = old.uid === process.getuid?.() && old.gid === process.getgid?.();
  return {
    mode: mode ?? old.mode & 0o7777,
    owner: isOwnedByUser ? undefined : { uid: old.uid, gid: old.gid },
  };
}

/** Sets owner and permissions. Drops setuid and setgid if the owner cannot be preserved. */
export async function applyAccess(handle: FileHandle, { mode, owner }: FileAccess): Promise<void> {
  let isOwnerKept = true;
  if (owner !== undefined)
    isOwnerKept = await handle.chown(owner.uid, owner.gid).then(
      () => true,
      () => false,
    );
  await handle.chmod(isOwnerKept ? mode : mode & 0o777);
}
