// Replaces the text in a file, unless the text has changed since reading. Otherwise a concurrent change
// would be lost.

import { lstat, open } from 'node:fs/promises';
import { readSourceFile, SourceFile } from '../../../config/reader/source-file.ts';
import { ApiProblem } from '../api/client.ts';
import { writeFileAtomically } from '../files/atomic-write.ts';
import { UnwritableFile } from '../files/replaceable-path.ts';

const MARK = '\uFEFF';

/** Another process has changed the file since reading. */
export class ConcurrentChange extends ApiProblem {
  constructor(path: string) {
    super(`${path} was changed by another process; nothing was written, run the command again`, {
      isTransient: true,
    });
    this.name = 'ConcurrentChange';
  }
}

/** Returns the text without byte order mark; '' for a missing file. Throws ApiProblem. */
export async function readText(path: string): Promise<string> {
  const exists = (await lstat(path).catch(() => undefined)) !== undefined;
  const source = await readSourceFile(path);
  if (source instanceof SourceFile) return source.text;
  // A symbolic link to a missing file is an error: the user expects a file there.
  if (!exists && source.reason === 'the file does not exist') return '';
  throw new ApiProblem(`${path}: ${source.reason}`);
}

/**
 * Replaces the content `before` with `after`. `mode` applies to a new file. Throws ApiProblem without
 * changing the file, for example ConcurrentChange.
 */
export async function replaceText(path: string, before: string, after: string, mode?: number): Promise<void> {
  const check = async () => {
    if ((await readText(path)) !== before) throw new ConcurrentChange(path);
  };
  try {
    await writeFileAtomically(path, ((await beginsWithMark(path)) ? MARK : '') + after, { mode, check });
  } catch (error) {
    if (!(error instanceof UnwritableFile)) throw error;
    throw new ApiProblem(error.message, { isTransient: error.isBusy });
  }
}

/** Returns false if the file is unreadable. */
async function beginsWithMark(path: string): Promise<boolean> {
  const handle = await open(path, 'r').catch(() => undefined);
  try {
    const result = await handle?.read(Buffer.alloc(3), 0, 3, 0);
    return result?.bytesRead === 3 && result.buffer.toString('utf8') === MARK;
  } finally {
    await handle?.close();
  }
}
