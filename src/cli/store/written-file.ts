// A file that is there as a whole or not at all: written beside its place by its owner alone, on the disk before it takes its name.
//
// MVW1  whatever goes wrong, nothing is left of it; one that is there is replaced only where that is asked for.

import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { StoreFileError } from '../../../actors/store/moved/move-errors.ts';
import { ApiProblem } from '../api/api-client.ts';

export type Write = (part: string) => Promise<void>;

/** Throws ApiProblem where something is in the way. */
export async function refuseExisting(path: string, isForced: boolean): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return;
  if (!found.isFile()) throw new ApiProblem(`${path} is there already, and is no file`, false);
  if (!isForced) throw new ApiProblem(`${path} is there already; --force replaces it`, false);
}

/** Gives what `fill` gives. Rejects with what that rejects with, and with StoreFileError where the disk does not take it. */
export async function writtenFile<T>(
  path: string,
  isForced: boolean,
  fill: (write: Write) => Promise<T>,
): Promise<T> {
  await refuseExisting(path, isForced);
  const draft = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`);
  const handle = await onDisk(path, () => open(draft, 'wx', 0o600));
  try {
    try {
      const given = await fill((part) => onDisk(path, () => handle.writeFile(part)));
      await onDisk(path, () => handle.sync());
      await refuseExisting(path, isForced);
      await onDisk(path, () => rename(draft, path));
      await syncFolder(dirname(path));
      return given;
    } finally {
      await handle.close();
    }
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** To a pipe or a terminal; whoever reads it may leave. */
export const toStdout: Write = (part) =>
  new Promise((resolve, reject) => {
    process.stdout.write(part, (error) => {
      if (error === null || error === undefined) resolve();
      else
        reject(new StoreFileError(`stdout takes no more (${codeOf(error)}); what was written is of no use`));
    });
  });

async function onDisk<T>(path: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    const code = codeOf(error);
    const why = code === 'ENOSPC' || code === 'EDQUOT' ? `there is no room on its disk (${code})` : code;
    throw new StoreFileError(`${path} cannot be written: ${why}; nothing was left of it`);
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? 'unknown reason';

/** So that the name outlives a power loss too. Not every file system knows that. */
async function syncFolder(folder: string): Promise<void> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(folder, 'r');
    await handle.sync();
  } catch {
    // It is there all the same.
  } finally {
    await handle?.close();
  }
}
