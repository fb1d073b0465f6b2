// Store export output: a file that only its owner may read, or stdout.

import { StoreFileError } from '../../../actors/store/moved/move-errors.ts';
import { ApiProblem } from '../api/api-client.ts';
import { replaceableFile, UnwritableFile } from '../files/replaceable-file.ts';
import { fillWhole, type Write } from '../files/whole-file.ts';

const OWNER_ONLY = 0o600;

/** Throws ApiProblem for a path that the export may not replace. */
export async function refuseExisting(path: string, isForced: boolean): Promise<void> {
  try {
    await replaceableFile(path, !isForced);
  } catch (error) {
    throw error instanceof UnwritableFile ? new ApiProblem(wordsOf(path, error), false) : error;
  }
}

/** Returns the result of `fill`. Rejects with the `fill` error, or StoreFileError if the file is unwritable. */
export async function writeExport<T>(
  path: string,
  isForced: boolean,
  fill: (write: Write) => Promise<T>,
): Promise<T> {
  try {
    return await fillWhole(path, fill, { mode: OWNER_ONLY, isNew: !isForced });
  } catch (error) {
    throw error instanceof UnwritableFile ? new StoreFileError(wordsOf(path, error)) : error;
  }
}

function wordsOf(path: string, { isTaken, message }: UnwritableFile): string {
  return isTaken ? `${path} is there already; --force replaces it, if it is a file` : message;
}

/** To a pipe or a terminal, whose reader may leave. */
export const toStdout: Write = (part) =>
  new Promise((resolve, reject) => {
    process.stdout.write(part, (error) => {
      if (error === null || error === undefined) resolve();
      else {
        const { code = 'unknown reason' } = error as NodeJS.ErrnoException;
        reject(new StoreFileError(`stdout accepts no more (${code}); discard the output`));
      }
    });
  });
