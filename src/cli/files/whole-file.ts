// Replaces a file atomically; every command that writes a file uses this. A draft in the same folder is synced, then renamed.
//
// - only regular files are replaced; symbolic links are followed and preserved. A pipe, a device, a socket or a folder is refused:
//       a rename would replace it with a file, for root even /dev/null.
// - on any error the old file is unchanged, and the draft is removed.
// - the draft name is fixed per file and acts as its lock: concurrent commands wait, and no change is lost.

import { type FileHandle, link, lstat, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { accessOf, applyAccess } from './file-access.ts';
import { replaceableFile, UnwritableFile, writing } from './replaceable-file.ts';

export type Write = (part: string | Uint8Array) => Promise<void>;

export interface WholeFileOptions {
  /** Permissions. Default: from the old file, or the default for new files. */
  readonly mode?: number | undefined;
  /** A file to copy permissions and owner from. */
  readonly like?: string;
  /** Refuses a file that exists, instead of replacing it. */
  readonly isNew?: boolean;
  /** Runs before the rename; an error aborts it. */
  readonly check?: () => Promise<void>;
}

const WAIT_MS = 5_000;
const PAUSE_MS = 20;
/** Age at which a draft is abandoned, in milliseconds. */
const ABANDONED_MS = 10_000;

/** Writes the text or the bytes. Throws UnwritableFile, and errors of `check`. */
export async function writeWhole(
  path: string,
  content: string | Uint8Array,
  options: WholeFileOptions = {},
): Promise<void> {
  await fillWhole(path, (write) => write(content), options);
}

/** Lets `fill` write the file, and returns its result. Throws UnwritableFile, and errors of `fill` and `check`. */
export async function fillWhole<T>(
  path: string,
  fill: (write: Write) => Promise<T>,
  { mode, like, isNew = false, check }: WholeFileOptions = {},
): Promise<T> {
  const { real } = await replaceableFile(path, isNew);
  const draft = join(dirname(real), `.${basename(real)}.tmp`);
  const access = await writing(path, () => accessOf(real, like ?? real, mode));
  const handle = await openDraft(path, draft);
  try {
    const result = await fill((part) => writing(path, () => handle.writeFile(part)));
    await writing(path, async () => {
      await applyAccess(handle, access);
      await handle.sync();
    });
    await check?.();
    await publish(path, draft, handle, isNew);
    return result;
  } catch (error) {
    if (await isSame(draft, handle)) await rm(draft, { force: true }).catch(() => {});
    throw error;
  } finally {
    await handle.close();
  }
}

/** Renames the draft to the file. */
async function publish(path: string, draft: string, handle: FileHandle, isNew: boolean): Promise<void> {
  // The path may have changed since the first check.
  const { real } = await replaceableFile(path, isNew);
  await writing(path, async () => {
    if (!(await isSame(draft, handle)))
      throw new UnwritableFile(path, 'another command has removed the draft', { isBusy: true });
    if (!isNew || !(await linked(draft, real))) await rename(draft, real);
    await syncFolder(dirname(real));
  });
}

/** Links the draft to its name: unlike a rename this never replaces a new file. Returns false if the file system has no links. */
async function linked(draft: string, real: string): Promise<boolean> {
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
    const handle = await writing(path, () => created(draft));
    if (handle !== undefined) return handle;
    const found = await lstat(draft).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > ABANDONED_MS) await rm(draft, { force: true });
    else if (Date.now() > end)
      throw new UnwritableFile(path, `another command is changing it (${draft} exists)`, { isBusy: true });
    else await pause(PAUSE_MS);
  }
}

/** Returns undefined if the draft exists. */
async function created(draft: string): Promise<FileHandle | undefined> {
  try {
    // Other users may not read it before its permissions are set.
    return await open(draft, 'wx', 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined;
    throw error;
  }
}

/** Returns whether the draft is still the file that was opened. */
async function isSame(draft: string, handle: FileHandle): Promise<boolean> {
  const found = await lstat(draft).catch(() => undefined);
  const { ino, dev } = await handle.stat();
  return found?.ino === ino && found.dev === dev;
}

/** Lets the name survive a power loss. Not every file system supports it. */
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
