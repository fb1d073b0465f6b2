// Replaces a text file if it still contains the text that was read: two concurrent changes both survive.

import { lstat, open } from 'node:fs/promises';
import { readSourceFile, SourceFile } from '../../../config/reader/source-file.ts';
import { ApiProblem } from '../api/api-client.ts';
import { UnwritableFile } from '../files/replaceable-file.ts';
import { writeWhole } from '../files/whole-file.ts';

const MARK = '\uFEFF';

/** The file has changed since it was read. */
export class ChangedMeanwhile extends ApiProblem {
  constructor(path: string) {
    super(`${path} has been changed meanwhile; nothing was written, try again`, true);
    this.name = 'ChangedMeanwhile';
  }
}

/** Returns the file text except its byte order mark; '' if the file does not exist. Throws ApiProblem. */
export async function readWhole(path: string): Promise<string> {
  const isThere = (await lstat(path).catch(() => undefined)) !== undefined;
  const source = await readSourceFile(path);
  if (source instanceof SourceFile) return source.text;
  // A dangling link is an error: the operator expects a file there.
  if (!isThere && source.reason === 'the file does not exist') return '';
  throw new ApiProblem(`${path}: ${source.reason}`, false);
}

/**
 * Replaces the text `before` by `after`. `mode` is for the new file. Throws ApiProblem, such as ChangedMeanwhile, and then the
 * file is unchanged.
 */
export async function replaceText(path: string, before: string, after: string, mode?: number): Promise<void> {
  const check = async () => {
    if ((await readWhole(path)) !== before) throw new ChangedMeanwhile(path);
  };
  try {
    await writeWhole(path, ((await beginsWithMark(path)) ? MARK : '') + after, { mode, check });
  } catch (error) {
    if (!(error instanceof UnwritableFile)) throw error;
    throw new ApiProblem(error.message, error.isBusy);
  }
}

/** False for a file that cannot be read. */
async function beginsWithMark(path: string): Promise<boolean> {
  const handle = await open(path, 'r').catch(() => undefined);
  try {
    const read = await handle?.read(Buffer.alloc(3), 0, 3, 0);
    return read?.bytesRead === 3 && read.buffer.toString('utf8') === MARK;
  } finally {
    await handle?.close();
  }
}
