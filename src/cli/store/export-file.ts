// Output of `store export`: a file that only the owner may read, or stdout.

import { StoreFileError } from '../../../actors/store/export/errors.ts';
import { ApiProblem } from '../api/client.ts';
import { fillFileAtomically, type Write } from '../files/atomic-write.ts';
import { resolveReplaceable, UnwritableFile } from '../files/replaceable-path.ts';

const OWNER_ONLY = 0o600;

/** Throws ApiProblem if the file exists and `isForced` is false, or if the path is not a regular file. */
export async function refuseExisting(path: string, isForced: boolean): Promise<void> {
  try {
    await resolveReplaceable(path, !isForced);
  } catch (error) {
    throw error instanceof UnwritableFile ? new ApiProblem(errorText(path, error)) : error;
  }
}

/**
 * Creates the file, with the content that `fill` writes, and returns the result of `fill`. Rejects with the
 * error of `fill`, or with StoreFileError if the file is not writable.
 */
export async function writeExport<T>(
  path: string,
  isForced: boolean,
  fill: (write: Write) => Promise<T>,
): Promise<T> {
  try {
    return await fillFileAtomically(path, fill, { mode: OWNER_ONLY, isNew: !isForced });
  } catch (error) {
    throw error instanceof UnwritableFile ? new StoreFileError(errorText(path, error)) : error;
  }
}

function errorText(path: string, { isTaken, message }: UnwritableFile): string {
  return isTaken ? `${path} already exists; add --force to replace it, if it is a file` : message;
}

/** Writes to stdout. Rejects with StoreFileError if the reader has closed it. */
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
