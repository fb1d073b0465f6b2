// A replaced file's permissions and owner: copied from the old file, if this user may set them.

import { access, constants, type FileHandle, stat } from 'node:fs/promises';

export interface FileAccess {
  readonly mode: number;
  /** Undefined if the owner is this user. */
  readonly owner: { readonly uid: number; readonly gid: number } | undefined;
}

/** Returns the permissions and owner to set. Rejects if the file exists and this user may not write it. */
export async function accessOf(file: string, like: string, mode: number | undefined): Promise<FileAccess> {
  const exists = (await stat(file).catch(() => undefined)) !== undefined;
  // A permission for its folder would be enough to take its name.
  if (exists) await access(file, constants.W_OK);
  const old = await stat(like).catch(() => undefined);
  if (old === undefined) return { mode: mode ?? 0o666 & ~process.umask(), owner: undefined };
  const isOwn = old.uid === process.getuid?.() && old.gid === process.getgid?.();
  return { mode: mode ?? old.mode & 0o7777, owner: isOwn ? undefined : { uid: old.uid, gid: old.gid } };
}

/** Sets owner and permissions. Drops setuid and setgid if the owner cannot be preserved. */
export async function applyAccess(handle: FileHandle, { mode, owner }: FileAccess): Promise<void> {
  let isKept = true;
  if (owner !== undefined)
    isKept = await handle.chown(owner.uid, owner.gid).then(
      () => true,
      () => false,
    );
  await handle.chmod(isKept ? mode : mode & 0o777);
}
