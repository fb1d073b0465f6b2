// Replaces files atomically, for all commands that write files: writes a draft in the same folder, syncs it
// to disk and renames it.
//
// - Only regular files are replaced. Symbolic links are followed and kept. Pipes, devices, sockets and
//   folders are refused: a rename would replace them with a file, for root even /dev/null.
// - On any error the old file is unchanged and the draft is removed.
// - The name of the draft depends only on the file, so the draft is also a lock: a concurrent command retries
//   until it is removed, and no change is lost.

import { type FileHandle, link, lstat, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { accessOf, applyAccess } from './permissions.ts';
import { convertWriteErrors, resolveReplaceable, UnwritableFile } from './replaceable-path.ts';

export type Write = (part: string | Uint8Array) => Promise<void>;

export interface AtomicWriteOptions {
  /** Permissions. Default: copied from the old file, else the default for new files. */
  readonly mode?: number | undefined;
  /** File to copy permissions and owner from. */
  readonly like?: string;
  /** Refuses to replace an existing file. */
  readonly isNew?: boolean;
  /** Called before the rename. An error aborts the replacement. */
  readonly check?: () => Promise<void>;
}

/** Time after which a command fails if another process still holds the draft. */
const WAIT_MS = 5_000;
const PAUSE_MS = 20;
/** Drafts older than this were left by crashed commands. */
const ABANDONED_MS = 10_000;

/** Writes the content atomically. Throws UnwritableFile, and errors of `check`. */
export async function writeFileAtomically(
  path: string,
  content: string | Uint8Array,
  options: AtomicWriteOptions = {},
): Promise<void> {
  await fillFileAtomically(path, (write) => write(content), options);
}

/**
 * Same, but `fill` writes the content in parts. Returns the result of `fill`. Throws UnwritableFile, and
 * errors of `fill` and `check`.
 */
export async function fillFileAtomically<T>(
  path: string,
  fill: (write: Write) => Promise<T>,
  { mode, like, isNew = false, check }: AtomicWriteOptions = {},
): Promise<T> {
  const { real } = await resolveReplaceable(path, isNew);
  const draft = join(dirname(real), `.${basename(real)}.tmp`);
  const access = await convertWriteErrors(path, () => accessOf(real, like ?? real, mode));
  const handle = await openDraft(path, draft);
  try {
    const result = await fill((part) => convertWriteErrors(path, () => handle.writeFile(part)));
    await convertWriteErrors(path, async () => {
      await applyAccess(handle, access);
      await handle.sync();
    });
    await check?.();
    await renameDraft(path, draft, handle, isNew);
    return result;
  } catch (error) {
    if (await isOwnDraft(draft, handle)) await rm(draft, { force: true }).catch(() => {});
    throw error;
  } finally {
    await handle.close();
  }
}

/** Renames the draft to the final name. */
async function renameDraft(path: string, draft: string, handle: FileHandle, isNew: boolean): Promise<void> {
  // The path has possibly changed since the first check.
  const { real } = await resolveReplaceable(path, isNew);
  await convertWriteErrors(path, async () => {
    if (!(await isOwnDraft(draft, handle)))
      throw new UnwritableFile(path, 'another command has removed the draft', { isBusy: true });
    if (!isNew || !(await linkDraft(draft, real))) await rename(draft, real);
    await syncFolder(dirname(real));
  });
}

/**
 * Links the draft to its final name. Unlike a rename, a link never replaces an existing file. Returns false
 * if the file system does not support links.
 */
async function linkDraft(draft: string, real: string): Promise<boolean> {
  try {
    await link(draft, real);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(code)) return false;
    throw error;
  }
  await rm(draft, { force: true });
  return true;
}

async function openDraft(path: string, draft: string): Promise<FileHandle> {
  const end = Date.now() + WAIT_MS;
  for (;;) {
    const handle = await convertWriteErrors(path, () => createDraft(draft));
    if (handle !== undefined) return handle;
    const stats = await lstat(draft).catch(() => undefined);
    if (stats !== undefined && Date.now() - stats.mtimeMs > ABANDONED_MS) await rm(draft, { force: true });
    else if (Date.now() > end)
      throw new UnwritableFile(path, `another command is changing it (${draft} exists)`, { isBusy: true });
    else await pause(PAUSE_MS);
  }
}

/** Creates the draft; returns undefined if it exists. */
async function createDraft(draft: string): Promise<FileHandle | undefined> {
  try {
    // Only this user may read the draft, until the final permissions are set.
    return await open(draft, 'wx', 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined;
    throw error;
  }
}

/** Returns false if a different command has removed or replaced the draft. */
async function isOwnDraft(draft: string, handle: FileHandle): Promise<boolean> {
  const stats = await lstat(draft).catch(() => undefined);
  const { ino, dev } = await handle.stat();
  return stats?.ino === ino && stats.dev === dev;
}

/** Makes the rename durable, if the file system supports it. */
async function syncFolder(folder: string): Promise<void> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(folder, 'r');
    await handle.sync();
  } catch {
    // The file is complete without it.
  } finally {
    await handle?.close();
  }
}
